import { signal } from 'reactive';
{{code 6000}}
const values = new Map();
export const store = {
  set(key, value) { values.set(key, signal(value)); },
  get(key) { return values.get(key)?.value; }
};
