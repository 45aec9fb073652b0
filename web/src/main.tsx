import { render } from 'preact';
import { App, serverBase } from './app';
import { ServerTransport } from './transport/server';
import { TabTransport } from './transport/tab';
import { Shell } from './ui/shell';

const onServer = /\/_dynatwin\/ui(\/|$)/.test(location.pathname);
const transport = onServer ? new ServerTransport(serverBase()) : new TabTransport();
const app = new App(transport);

const place = document.getElementById('app');
if (place) {
  place.textContent = '';
  render(<Shell app={app} />, place);
}

app.start().catch((error: unknown) => {
  app.failure.value = error instanceof Error ? error.message : String(error);
});

// The page works offline after it has been loaded once.
if (!onServer && 'serviceWorker' in navigator && import.meta.env.PROD) {
  void navigator.serviceWorker.register('./service-worker.js').catch(() => {});
}
