{{code 5000}}
export const running = { now: null };
export function signal(first) {
  let value = first;
  const users = new Set();
  return {
    get value() {
      if (running.now) users.add(running.now);
      return value;
    },
    set value(next) {
      value = next;
      users.forEach((run) => run());
    }
  };
}
