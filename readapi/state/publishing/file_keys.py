"""Keys of files in the audio store. Pure."""

INCOMING, ORIGINALS, RENDITIONS = "incoming", "originals", "renditions"
FOLDERS = (INCOMING, ORIGINALS, RENDITIONS)
IDENTITY = "identity"  # the file that names the state database of the store


def original_key(file_id: str) -> str:
    """The key of an original. `file_id`: SHA-256 in hex."""
    return f"{ORIGINALS}/{file_id}"


def rendition_key(file_id: str, rendition_type: str) -> str:
    """The key of an original's rendition."""
    return f"{RENDITIONS}/{file_id}.{rendition_type}"


def received_audio(upload_id: str) -> str:
    """The key of an upload's audio file until it is processed."""
    return f"{INCOMING}/{upload_id}/audio"


def received_image(upload_id: str) -> str:
    """The key of an upload's image."""
    return f"{INCOMING}/{upload_id}/image"


def file_in(key: str) -> str:
    """The file id in the key of an original or rendition."""
    return key.split("/")[1].partition(".")[0]


def upload_in(key: str) -> str:
    """The upload id in the key of a received file."""
    return key.split("/")[1]
