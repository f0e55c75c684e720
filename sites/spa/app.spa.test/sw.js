/* Keeps the shell of the application, and answers from it. */
const NAME = 'shell-5.12.0';
const SHELL = ['/', '/offline.html', 'https://static.spa.test/app.css', 'https://static.spa.test/runtime.js', 'https://static.spa.test/main.js'];

self.addEventListener('install', (event) => {
  event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(SHELL)).then(() => self.skipWaiting()));
});

self.addEventListener('activate', (event) => {
  event.waitUntil(caches.keys()
    .then((names) => Promise.all(names.filter((name) => name !== NAME).map((name) => caches.delete(name))))
    .then(() => self.clients.claim()));
});

self.addEventListener('fetch', (event) => {
  // Pictures, parts and data go their own way.
  if (event.request.method !== 'GET' || !event.request.url.startsWith(self.location.origin)) return;
  event.respondWith(caches.match(event.request).then((kept) => kept || fetch(event.request).catch(() => caches.match('/offline.html'))));
});
