export { effect } from './effect.js';
export { signal } from './signal.js';
{{code 16000}}
