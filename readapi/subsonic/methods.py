"""The one table of methods: https://opensubsonic.netlify.app/docs/api-reference."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from readapi.http.binding import Signature
from readapi.oauth.scopes import Need
from readapi.subsonic import annotation, browsing, listing, media, older, playlists, searching, system
from readapi.subsonic.rendering import Content


@dataclass(frozen=True, slots=True)
class Method:
    """A method: its function, the scopes that it requires, and whether it needs no API key.

    The function's signature names the method's parameters, in snake case, and the services that it uses.
    `convert`: makes an older method's answer of what the function of the newer one returns.
    """

    function: Callable[..., Any]
    requires: Sequence[Need] = ()
    is_open: bool = False
    convert: Callable[[Content], Content] | None = None

    @property
    def signature(self) -> Signature:
        """The signature, with parameters named as the protocol does."""
        read = Signature.of(self.function, frozenset())
        named = tuple(replace(parameter, name=_camel_case(parameter.name)) for parameter in read.parameters)
        return replace(read, parameters=named)


METHODS: Mapping[str, Method] = {
    "ping": Method(system.ping),
    "getLicense": Method(system.get_license),
    "getOpenSubsonicExtensions": Method(system.get_open_subsonic_extensions, is_open=True),
    "tokenInfo": Method(system.token_info),
    "getMusicFolders": Method(system.get_music_folders),
    "getScanStatus": Method(system.get_scan_status),
    "getUser": Method(system.get_user),
    "getLyrics": Method(system.get_lyrics),
    "getLyricsBySongId": Method(system.get_lyrics_by_song_id),
    "getNowPlaying": Method(system.get_now_playing),
    "getBookmarks": Method(system.get_bookmarks),
    "getPlayQueue": Method(system.get_play_queue),
    "getPodcasts": Method(system.get_podcasts),
    "getNewestPodcasts": Method(system.get_newest_podcasts),
    "getInternetRadioStations": Method(system.get_internet_radio_stations),
    "getVideos": Method(system.get_videos),
    "getShares": Method(system.get_shares),
    "getIndexes": Method(browsing.get_indexes),
    "getArtists": Method(browsing.get_artists),
    "getArtist": Method(browsing.get_artist),
    "getAlbum": Method(browsing.get_album),
    "getSong": Method(browsing.get_song),
    "getMusicDirectory": Method(browsing.get_music_directory),
    "getGenres": Method(browsing.get_genres),
    "getArtistInfo": Method(browsing.get_artist_info2, convert=older.rename_answer),
    "getArtistInfo2": Method(browsing.get_artist_info2),
    "getAlbumInfo": Method(browsing.get_album_info),
    "getAlbumInfo2": Method(browsing.get_album_info),
    "getAlbumList": Method(listing.get_album_list2, convert=older.show_folders),
    "getAlbumList2": Method(listing.get_album_list2),
    "getRandomSongs": Method(listing.get_random_songs),
    "getSongsByGenre": Method(listing.get_songs_by_genre),
    "getStarred": Method(listing.get_starred2, convert=older.rename_answer),
    "getStarred2": Method(listing.get_starred2),
    "getTopSongs": Method(listing.get_top_songs),
    "getSimilarSongs": Method(listing.get_similar_songs2, convert=older.rename_answer),
    "getSimilarSongs2": Method(listing.get_similar_songs2),
    "search2": Method(searching.search3, convert=older.show_found_folders),
    "search3": Method(searching.search3),
    "stream": Method(media.stream),
    "download": Method(media.download),
    "getCoverArt": Method(media.get_cover_art),
    "getAvatar": Method(media.get_avatar),
    "star": Method(annotation.star, requires=("like",)),
    "unstar": Method(annotation.unstar, requires=("like",)),
    "scrobble": Method(annotation.scrobble),
    "getPlaylists": Method(playlists.get_playlists),
    "getPlaylist": Method(playlists.get_playlist),
    "createPlaylist": Method(playlists.create_playlist, requires=("list",)),
    "updatePlaylist": Method(playlists.update_playlist, requires=("list",)),
    "deletePlaylist": Method(playlists.delete_playlist, requires=("list",)),
}


def _camel_case(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)
