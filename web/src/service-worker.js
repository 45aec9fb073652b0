// Keeps the page for use without a network: all its files, as of one build.
const CACHE = 'dynatwin-__VERSION__';
const FILES = [/* files */];

self.addEventListener('install', (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()));
});

self.addEventListener('activate', (event) => {
  const old = (names) => Promise.all(names.filter((name) => name.startsWith('dynatwin-') && name !== CACHE).map((name) => caches.delete(name)));
  event.waitUntil(caches.keys().then(old).then(() => self.clients.claim()));
});

// The page itself is fetched first, so that a new version shows; its files carry a hash in their names.
self.addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.method !== 'GET' || new URL(request.url).origin !== location.origin) return;
  const kept = () => caches.match(request, { ignoreSearch: true });
  if (request.mode === 'navigate') event.respondWith(fetch(request).catch(async () => (await kept()) ?? (await caches.match('./'))));
  else event.respondWith(kept().then((found) => found ?? fetch(request)));
});
