"""The identifiers in the examples, each written once, so that a test can substitute real ones."""

BASE = "https://api.music.example"
PDS = "https://pds.music.example"

DID, HANDLE = "did:plc:ewvi7nxzyoun6zhxrhs64oiz", "mara.music.example"
OTHER_DID, OTHER_HANDLE = "did:plc:z72i7hdynmk6r22z27h6tvur", "ben.music.example"

TRACK_ID, TRACK_RKEY = 2219395572924219, "3n2wcfi5yrn36"
TRACK_URI = f"at://{DID}/fm.svc.track/{TRACK_RKEY}"
TRACK_CID = "bafyreihosjysbpynq64ykxkx2zs7gd26n3sh66an2srhu7lt3jpqjkzvti"
FILE_ID = "bafkreic2i6ey6ytonwk5w3l55lkazsitgyripaxpbddo56ltfa5uaf3tfe"
ALBUM_ID = "9c988e3a-e647-5126-b367-ac371533d7a0"
PLAYLIST_ID = "2aabcc63-bf94-507f-98b7-436630e66a7a"
PLAYLIST_URI = f"at://{DID}/fm.svc.list/3n2wcfkz7hk2b"
COMMENT_ID = 2527752809824663
UPLOAD_ID = "6eae5451a5564a34a0ef0bfdcfdf05da"
JOB_ID = "c76ba0e8a56a4d02838a1419e6081b23"
REVISION_ID = 41

TOKEN_ID = "f399972be96a4a19aaace7e96d35f4d1"  # noqa: S105  # an id, no secret
WEBHOOK_ID = "0d1f7c3e5a9b42d6b8e4f2a1c7d90b35"
RECEIVER = "https://radio.example/hooks/fmsvc"
AUTH_URL = f"{PDS}/oauth/authorize?client_id=https%3A%2F%2Fapi.music.example&request_uri=urn%3Aexample"
EXCHANGE_TOKEN = "Yx3mW1Vb0cQ7hK9tP2sN5rD8fG4jL6zA"  # noqa: S105  # an example
SESSION_ID = "k2J9vT4wQ8nB1mX6cR3pL7sD5fH0gYzE"
STATE, CODE = "hN4bV7cX2mK9sP1d", "cod-5f1c0e2a9b7d4863"
PICTURE_CID = "bafkreiayv5kk2wpymwpvfkrdv2zogzwxfl64hi2wrfnbvksismycigkg4m"
PICTURE = f"{PDS}/xrpc/com.atproto.sync.getBlob?did={DID}&cid={PICTURE_CID}"
EXPORT = "000001-full-20260301T120000Z-5f1c0e9a"
