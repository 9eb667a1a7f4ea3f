"""What every controller is made of: informers, a work queue, own writes, events, and plain objects.

Must not know: any controller.
"""
