import { running } from './signal.js';
{{code 5000}}
export function effect(run) {
  running.now = run;
  run();
  running.now = null;
}
