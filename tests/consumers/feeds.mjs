// What readers of podcasts and feeds from npm find in an RSS document and a JSON Feed: prints it as JSON.
import { readFileSync } from "node:fs";
import { parseJsonFeed, parseRssFeed } from "feedsmith";
import { parseFeed } from "podcast-partytime";

const [rss, json] = process.argv.slice(2).map((path) => readFileSync(path, "utf8"));
const podcast = parseFeed(rss);
const strict = parseRssFeed(rss);
const feed = parseJsonFeed(json);
console.log(
  JSON.stringify({
    podcast: { guid: podcast.guid, medium: podcast.medium, explicit: podcast.explicit, author: podcast.author },
    episodes: podcast.items.map((item) => [item.guid, item.enclosure.url, item.enclosure.length, item.duration]),
    items: strict.items.map((item) => [item.guid.value, item.enclosures?.[0]?.url, item.itunes.title]),
    image: [strict.image?.url ?? null, strict.itunes.image ?? null],
    feed: feed.items.map((item) => [item.id, item.attachments?.[0]?.url, item.attachments?.[0]?.size_in_bytes]),
  }),
);
