// What m3u-parser-generator from npm finds in a playlist file: prints it as JSON.
import { readFileSync } from "node:fs";
import { M3uParser } from "m3u-parser-generator";

const playlist = new M3uParser().parse(readFileSync(process.argv[2], "utf8"));
console.log(JSON.stringify(playlist.medias.map(({ location, name, duration }) => ({ location, name, duration }))));
