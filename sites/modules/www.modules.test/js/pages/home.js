import { plants } from './plants.js';
import bed0 from './bed-0.js';
import bed1 from './bed-1.js';
{{code 6000}}
// Lays out all beds by trying: a greedy search, some 50 ms of computing.
function arrange(count) {
  let state = 12345, best = 0;
  const field = new Uint16Array(4096);
  for (let round = 0; round < count; round++) {
    state = Math.imul(state, 1103515245) + 12345 >>> 0;
    const at = state >>> 20, near = field[at - 1 & 4095] + field[at + 1 & 4095] + field[at + 64 & 4095];
    field[at] = near % 977 + 1;
    if (field[at] > best) best = field[at];
  }
  return best;
}
export const title = 'Home';
export async function show(place) {
  place.dataset.best = String(arrange(20_000_000));
  const answer = await fetch('/js/pages/beds.json');
  const beds = await answer.json();
  const more = await Promise.all([import('./bed-2.js'), import('./bed-3.js')]);
  const names = [...bed0, ...bed1, ...more.flatMap((module) => module.default)];
  place.append(`${beds.beds.length} beds, ${plants.length} plants: ${names.join(', ')}`);
}
