// What subsonic-api from npm is answered: prints it as JSON. Arguments: address, API key, name of an artist.
import { createHash } from "node:crypto";
import SubsonicAPI from "subsonic-api";

const [url, apiKey, name] = process.argv.slice(2);
const api = new SubsonicAPI({ url, auth: { apiKey } });
const digest = async (response) => {
  const bytes = Buffer.from(await response.arrayBuffer());
  return [response.status, response.headers.get("content-type"), createHash("sha256").update(bytes).digest("hex")];
};

const letters = (await api.getArtists()).artists.index;
const artist = letters.flatMap((letter) => letter.artist).find((one) => one.name === name);
const { album } = (await api.getArtist({ id: artist.id })).artist;
const { song: songs } = (await api.getAlbum({ id: album[0].id })).album;
const [song] = songs;
const made = (await api.createPlaylist({ name: "From npm", songId: songs.map((one) => one.id) })).playlist;
const starred = async () => (await api.getStarred2()).starred2.song.map((one) => one.title);

await api.star({ id: song.id });
const liked = await starred();
await api.unstar({ id: song.id });
const told = {
  status: (await api.ping()).status,
  extensions: (await api.getOpenSubsonicExtensions()).openSubsonicExtensions.map((one) => one.name),
  album: [album[0].name, songs.map((one) => one.title)],
  found: (await api.search3({ query: song.title })).searchResult3.song.map((one) => one.title),
  sound: await digest(await api.stream({ id: song.id })),
  cover: await digest(await api.getCoverArt({ id: song.coverArt, size: 100 })),
  liked,
  unliked: await starred(),
  playlist: [made.name, made.entry.map((one) => one.title)],
  scrobbled: (await api.scrobble({ id: song.id, submission: true })).status,
  deleted: (await api.deletePlaylist({ id: made.id })).status,
};
console.log(JSON.stringify(told));
