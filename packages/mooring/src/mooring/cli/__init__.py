"""The terminal. `commands` and `remote` are a client of the API; `launch` starts things and knows the server.

Must not know: how decisions are made. Command bodies are imported when they run.
"""
