// Ten operations by the types that openapi-typescript generates: prints what each was answered.
import createClient from "openapi-fetch";
import type { paths } from "./api.ts";

declare const process: { argv: string[] };
const client = createClient<paths>({ baseUrl: process.argv[2] });

const page = await client.GET("/tracks/", { params: { query: { limit: 2 } } });
const cursor = page.data?.next_cursor ?? undefined;
const first = page.data!.tracks[0]!;
const path = { track_id: first.id };
const told = {
  page: page.data!.tracks.length,
  rest: (await client.GET("/tracks/", { params: { query: { limit: 2, cursor } } })).data!.tracks.length,
  track: (await client.GET("/tracks/{track_id}", { params: { path } })).data!.title === first.title,
  by_uri: (await client.GET("/tracks/by-uri", { params: { query: { uri: first.atproto_record_uri } } })).data!.id,
  top: (await client.GET("/tracks/top", {})).data!.length,
  tags: (await client.GET("/tracks/tags", {})).data!.length,
  likes: (await client.GET("/tracks/{track_id}/likes", { params: { path } })).data!.users.length,
  comments: (await client.GET("/tracks/{track_id}/comments", { params: { path } })).data!.comments.length,
  artist: (await client.GET("/artists/{artist}", { params: { path: { artist: first.artist_did } } })).data!.did,
  found: (await client.GET("/search/", { params: { query: { q: first.title } } })).data!.results.length,
  played: (await client.POST("/tracks/{track_id}/play", { params: { path } })).data!.play_count,
  nothing: (await client.GET("/tracks/{track_id}", { params: { path: { track_id: "none" } } })).error!.detail,
};
console.log(JSON.stringify({ ...told, first: [first.id, first.artist_did] }));
