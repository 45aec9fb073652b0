// A link to this session, and files: sessions, snapshots, data models of NoSQL Workbench.
import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect } from 'preact/hooks';
import type { App } from '../app';
import { digest } from '../digest';
import { toFragment } from '../session';
import { words } from '../transport/dynamodb';
import { count, length } from '../words';
import { modelOf } from '../workbench';
import { chosenFile, download } from './download';
import { Icon } from './icon';
import { useModal } from './modal';

/** The longest link that is offered: messengers cut longer ones. */
const LONGEST = 60_000;

export function ShareDialog({ app, onClose }: { app: App; onClose: () => void }) {
  const dialog = useModal(onClose);
  const trouble = useSignal('');
  // Before the link waits until nothing moves.
  useLayoutEffect(() => app.time.halt(), []);
  const open = async (file: File | undefined) => {
    if (!file) return;
    try {
      const opened = await app.openFile(new Uint8Array(await file.arrayBuffer()));
      onClose();
      app.news.value = opened;
      app.run.note(opened);
    } catch (error) {
      trouble.value = words(error);
    }
  };
  const saved = (name: string, type: string, content: () => Promise<BlobPart>) => async () => {
    try {
      download(name, new Blob([await content()], { type }));
      trouble.value = '';
    } catch (error) {
      trouble.value = words(error);
    }
  };
  const text = (value: unknown) => JSON.stringify(value, undefined, 2);
  return (
    <dialog ref={dialog} class="share" aria-labelledby="share-title">
      <header>
        <h2 id="share-title">{app.isTab ? 'Share and save' : 'Save and open'}</h2>
        <button type="button" class="small" onClick={onClose}>Close</button>
      </header>
      {app.isTab && <Link app={app} />}
      <section aria-labelledby="files-title">
        <h3 id="files-title">Files</h3>
        <ul class="files">
          {app.isTab && (
            <li>
              <button type="button" onClick={saved('dynatwin-session.json', 'application/json', async () => text(app.session()))}>Save session</button>
              <span>what the link carries: it replays to the same history</span>
            </li>
          )}
          <li>
            <button type="button" onClick={saved('tables.snapshot', 'application/octet-stream', async () => new Uint8Array(await app.control.snapshot()))}>Save tables</button>
            <span>a snapshot: tables, items, conditions and the clock</span>
          </li>
          <li>
            <button type="button" onClick={saved('dynatwin-model.json', 'application/json', async () => text(await modelOf(app)))}>Save data model</button>
            <span>tables, indexes and items for NoSQL Workbench</span>
          </li>
          <li>
            <label class="button">
              Open a file
              <input type="file" class="unseen" onChange={(event) => void open(chosenFile(event.currentTarget))} />
            </label>
            <span>{app.isTab ? 'any of these' : 'a data model: its tables and items are created on this server'}</span>
          </li>
        </ul>
      </section>
      {trouble.value && <p class="trouble" role="alert">{trouble.value}</p>}
    </dialog>
  );
}

function Link({ app }: { app: App }) {
  const link = useSignal('');
  const mark = useSignal('');
  const copied = useSignal(false);
  const trouble = useSignal('');
  useEffect(() => {
    void (async () => {
      await app.time.advance(0);
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
  if (link.value.length > LONGEST) return <p>This session is too long for a link, at {count(link.value.length, 'character')}. Save it as a file.</p>;
  return (
    <>
      <p>
        The link carries the seed, the code and {count(session.script.length, 'step')} over {length(session.until)}{session.base ? ', and the tables the session began with' : ''}. Whoever opens it sees the same
        requests with the same results. Nothing is uploaded: all of it is in the link.
      </p>
      <div class="tools">
        <input readOnly aria-label="Link" value={link.value} onFocus={(event) => event.currentTarget.select()} />
        <button type="button" class="primary" onClick={() => void copy()}><Icon name="copy" /> {copied.value ? 'Copied' : 'Copy link'}</button>
      </div>
      <p class="quiet">Digest of the event log: <code id="digest">{mark.value || '…'}</code>. The same digest means the same history.</p>
      {trouble.value && <p class="trouble" role="alert">{trouble.value}</p>}
    </>
  );
}
