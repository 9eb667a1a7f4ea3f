"""CEL as CRD validation rules use it: parsed and type-checked once, evaluated on every write.

Must not know: requests, the store, or which definition a rule belongs to.
"""
