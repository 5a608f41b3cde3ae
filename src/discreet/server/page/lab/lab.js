// The lab: four experiments on made-up people.

import { start, one, faultBox } from "/static/shell.js";
import { classroom } from "/static/lab/classroom.js";
import { poll } from "/static/lab/poll.js";
import { noise } from "/static/lab/noise.js";
import { attacks } from "/static/lab/attacks.js";

await start();
for (const [name, open] of Object.entries({ classroom, poll, noise, attacks })) {
  const room = one(`#${name}`);
  open(room).catch((fault) => room.append(faultBox(fault)));
}
