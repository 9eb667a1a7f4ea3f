"""What is done for each kind: one folder a kind, with the same file names in each; modules here serve several kinds.

    informer.py     what the cluster shows of it, translated once a change
    snapshot.py     what a decision looks at
    reconciler.py   the steps of a pass
    manifests.py    the objects that are made, built as data
    controller.py   its parts put together, and when a key is looked at
    commands.py     what people and programs may ask for

Invariants watch and make nothing of their own: they have no informer and no manifests. Claims are not planned in
passes: `desk.py` answers each request, and `controller.py` puts the parts together.

Must not know: the controllers of other kinds, nor who asks.
"""
