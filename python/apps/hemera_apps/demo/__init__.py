"""The demonstration: a server scores tumours that it can not see.

`model` trains in the clear. `client` and `server` exchange nothing but bytes. `pipeline` times them, and
compares with the clear result; `report` prints. Both sides agree on `layout`.
"""
