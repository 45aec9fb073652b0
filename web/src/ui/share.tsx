// A link to this session, and the session as a file.
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { App } from '../app';
import { digest } from '../digest';
import { checked, toFragment } from '../session';
import { count, length } from '../words';
import { Icon } from './icon';

export function ShareDialog({ app, onClose }: { app: App; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const link = useSignal('');
  const mark = useSignal('');
  const copied = useSignal(false);
  const trouble = useSignal('');
  useEffect(() => {
    app.halt();
    dialog.current?.showModal();
    void (async () => {
      await app.advance(0);
      await app.feed.refresh();
      link.value = `${location.origin}${location.pathname}#${await toFragment(app.session())}`;
      mark.value = await digest(app);
    })();
  }, []);
  const session = app.session();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(link.value);
      copied.value = true;
    } catch {
      trouble.value = 'The browser did not allow copying: select the link and copy it.';
    }
  };
  const save = () => {
    const url = URL.createObjectURL(new Blob([JSON.stringify(session, undefined, 2)], { type: 'application/json' }));
    Object.assign(document.createElement('a'), { href: url, download: 'dynatwin-session.json' }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  };
  const load = async (file: File | undefined) => {
    if (!file) return;
    try {
      const found = checked(JSON.parse(await file.text()));
      if (!found) throw new Error('The file is no session of this page.');
      onClose();
      await app.replay(found);
    } catch (error) {
      trouble.value = error instanceof Error ? error.message : String(error);
    }
  };
  return (
    <dialog ref={dialog} class="share" aria-labelledby="share-title" onClose={onClose}>
      <header>
        <h2 id="share-title">Share this session</h2>
        <button type="button" class="small" onClick={onClose}>Close</button>
      </header>
      <p>
        The link carries the seed, the code and {count(session.script.length, 'step')} over {length(session.until)}. Whoever opens it sees the same
        requests with the same results. Nothing is uploaded: all of it is in the link.
      </p>
      <div class="tools">
        <input readOnly aria-label="Link" value={link.value} onFocus={(event) => event.currentTarget.select()} />
        <button type="button" class="primary" onClick={() => void copy()}><Icon name="copy" /> {copied.value ? 'Copied' : 'Copy link'}</button>
      </div>
      <p class="quiet">Digest of the event log: <code id="digest">{mark.value || '…'}</code>. The same digest means the same history.</p>
      <div class="tools">
        <button type="button" onClick={save}>Save as a file</button>
        <label class="button">
          Open a file
          <input type="file" accept="application/json" class="unseen" onChange={(event) => void load(event.currentTarget.files?.[0])} />
        </label>
      </div>
      {trouble.value && <p class="trouble" role="alert">{trouble.value}</p>}
    </dialog>
  );
}
