"""What owners of data run: they encode, encrypt, send and decrypt; with the messages to and from a server."""
