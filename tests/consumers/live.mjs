// What eventsource and ws from npm hear of the live feed: a line of JSON for each message. Arguments: name, address.
import { EventSource } from "eventsource";
import WebSocket from "ws";

const [client, address] = process.argv.slice(2);
const tell = (text, id) => console.log(JSON.stringify({ ...JSON.parse(text), id }));
if (client === "ws") {
  new WebSocket(address.replace("http", "ws")).on("message", (text) => tell(text));
} else {
  const feed = new EventSource(address);
  feed.onmessage = (event) => tell(event.data, event.lastEventId);
  feed.addEventListener("heartbeat", (event) => tell(event.data, event.lastEventId));
}
