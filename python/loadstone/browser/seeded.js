// Makes a page do the same in each load: randomness comes from a seed, and the time of day is moved by `shift` ms and
// runs on. `performance.now` stays, and so do timers. It runs first in each document and worker.
((seed, shift) => {
  const mark = Symbol.for("loadstone.seeded");
  // The first document of a frame and the next one may share a global object.
  if (globalThis[mark]) return;
  Object.defineProperty(globalThis, mark, { value: true });

  const replace = (object, name, value) => {
    const own = object && Object.getOwnPropertyDescriptor(object, name);
    if (own) Object.defineProperty(object, name, { ...own, value });
  };
  const replaceGet = (object, name, change) => {
    const own = object && Object.getOwnPropertyDescriptor(object, name);
    if (own && own.get) {
      const get = own.get;
      Object.defineProperty(object, name, { ...own, get() { return change(get.call(this)); } });
    }
  };

  // --- randomness ---

  // Frames and workers differ, but not by what in their addresses may be of a time.
  const place = () => {
    const { protocol, host, pathname } = globalThis.location;
    return protocol === "https:" || protocol === "http:" ? host + pathname : protocol;
  };

  // xoshiro128** by Blackman and Vigna, its state from the seed by SplitMix32. Each use has a stream of its own.
  const seededGenerator = (stream) => {
    let mixed = seed >>> 0;
    for (const letter of stream + place()) mixed = Math.imul(mixed ^ letter.codePointAt(0), 16777619);
    const split = () => {
      mixed = (mixed + 0x9e3779b9) | 0;
      let z = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
      z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
      return z ^ (z >>> 16);
    };
    let a = split(), b = split(), c = split(), d = split() | 1;
    return () => {
      let word = Math.imul(b, 5);
      word = Math.imul((word << 7) | (word >>> 25), 9);
      const moved = b << 9;
      c ^= a;
      d ^= b;
      b ^= c;
      a ^= d;
      c ^= moved;
      d = (d << 11) | (d >>> 21);
      return word >>> 0;
    };
  };

  // Scripts come in another order each time. What each does while it runs first is a stream of its own.
  const current = globalThis.Document && Object.getOwnPropertyDescriptor(Document.prototype, "currentScript").get;
  const source = () => {
    const script = current && current.call(document);
    return script ? `${script.src ?? ""}`.split("?")[0] || "inline" : "";
  };
  // Not before it is needed: a worker that has not begun has no address, and Chromium 156 crashes if asked for it.
  const generator = (use) => {
    const streams = new Map();
    return () => {
      const name = source();
      let next = streams.get(name);
      if (!next) streams.set(name, (next = seededGenerator(use + name)));
      return next();
    };
  };

  const forNumbers = generator("random");
  const { random } = {
    random: () => ((forNumbers() >>> 5) * 0x4000000 + (forNumbers() >>> 6)) / 0x20000000000000,
  };
  replace(Math, "random", random);

  const forBytes = generator("bytes"), forIds = generator("ids");
  const filled = (bytes, next) => {
    for (let at = 0; at < bytes.length; at++) bytes[at] = next();
    return bytes;
  };
  const cryptography = globalThis.Crypto?.prototype;
  const ownValues = cryptography?.getRandomValues;
  replace(cryptography, "getRandomValues", {
    getRandomValues(array) {
      // It refuses what it always refuses.
      ownValues.call(this, array);
      filled(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), forBytes);
      return array;
    },
  }.getRandomValues);
  replace(cryptography, "randomUUID", {
    randomUUID() {
      const bytes = filled(new Uint8Array(16), forIds);
      bytes[6] = (bytes[6] & 0x0f) | 0x40;
      bytes[8] = (bytes[8] & 0x3f) | 0x80;
      const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
      return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
    },
  }.randomUUID);

  // --- the time of day ---

  if (!shift) return;
  const Own = Date, ownNow = Date.now;
  const { now } = { now: () => ownNow() + shift };
  replace(Own, "now", now);
  globalThis.Date = new Proxy(Own, {
    construct: (_, given, made) => Reflect.construct(Own, given.length ? given : [now()], made),
    apply: () => new Own(now()).toString(),
  });
  replace(Own.prototype, "constructor", globalThis.Date);

  // What is a time of day, too: else a page would find that it began long after now.
  replaceGet(globalThis.Performance?.prototype, "timeOrigin", (time) => time + shift);
  const timing = globalThis.PerformanceTiming?.prototype;
  for (const name of timing ? Object.keys(timing) : []) {
    replaceGet(timing, name, (time) => (time ? time + shift : time));
  }

  const clock = globalThis.Temporal?.Now;
  if (clock) {
    const instant = () => Temporal.Instant.fromEpochMilliseconds(now());
    const zoned = (zone = clock.timeZoneId()) => instant().toZonedDateTimeISO(zone);
    replace(clock, "instant", instant);
    replace(clock, "zonedDateTimeISO", zoned);
    replace(clock, "plainDateTimeISO", (zone) => zoned(zone).toPlainDateTime());
    replace(clock, "plainDateISO", (zone) => zoned(zone).toPlainDate());
    replace(clock, "plainTimeISO", (zone) => zoned(zone).toPlainTime());
  }

  // Cookies expire by the browser's own time.
  const cookie = globalThis.Document && Object.getOwnPropertyDescriptor(Document.prototype, "cookie");
  if (cookie) {
    const expires = /(;\s*expires=)([^;]*)/i;
    const moved = (_, name, date) => {
      const time = Own.parse(date);
      return name + (time ? new Own(time - shift).toUTCString() : date);
    };
    const { set } = cookie;
    const setter = { set(text) { set.call(this, String(text).replace(expires, moved)); } };
    Object.defineProperty(Document.prototype, "cookie", { ...cookie, set: setter.set });
  }
  const store = globalThis.CookieStore?.prototype, ownSet = store?.set;
  replace(store, "set", {
    set(...given) {
      const [what, ...more] = given;
      const expires = typeof what === "object" && what ? what.expires : undefined;
      const moves = typeof expires === "number" || expires instanceof Own;
      return ownSet.call(this, ...(moves ? [{ ...what, expires: Number(expires) - shift }, ...more] : given));
    },
  }.set);
})
