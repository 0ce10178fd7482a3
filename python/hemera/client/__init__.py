"""The side of the owners of data: they encode, encrypt, send and decrypt. Messages to and from a server."""
