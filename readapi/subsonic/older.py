"""Answers of the older methods, made of those of the newer ones: other names, and albums as folders. Pure."""

from readapi.subsonic import items
from readapi.subsonic.rendering import Content


def rename_answer(content: Content) -> Content:
    """The same under the name without the figure: `starred` for `starred2`."""
    [(name, told)] = content.items()
    return {name.removesuffix("2"): told}


def show_folders(content: Content) -> Content:
    """The answer of `getAlbumList`."""
    return {"albumList": {"album": list(map(items.describe_folder, content["albumList2"]["album"]))}}


def show_found_folders(content: Content) -> Content:
    """The answer of `search2`."""
    told = content["searchResult3"]
    artists = [{name: one[name] for name in ("id", "name")} for one in told["artist"]]
    albums = list(map(items.describe_folder, told["album"]))
    return {"searchResult2": {"artist": artists, "album": albums, "song": told["song"]}}
