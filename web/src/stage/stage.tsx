// The stage: shows requests, lagging changes and exhausted buckets. Boxes are HTML; animations are drawn on a canvas
// above.
import { signal, useComputed } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { App } from '../app';
import { keepSetting, setting } from '../keep';
import { Icon } from '../ui/icon';
import { keyText } from '../value';
import { bytes, count, length, units } from '../words';
import type { Direction, HeatPartition, Replication, Resource, WaitingItem } from '../transport/control';
import type { IndexView, TableView } from '../tables';
import { ownerOf } from '../transport/dynamodb';
import { expiredOf, Flights } from './flights';

const folded = signal(setting('stage') === 'folded');

export function Stage({ app }: { app: App }) {
  const host = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const table = app.tables.current.value;

  useEffect(() => {
    if (!host.current || !canvas.current) return;
    const flights = new Flights(app, host.current, canvas.current);
    return () => flights.close();
  }, [folded.value]);

  return (
    <section class="pane stage" id="stage" aria-label="Stage">
      <StageHead app={app} />
      {!folded.value && <div class="stage-body" ref={host}>
        <Sender app={app} />
        {table ? <TableBox app={app} table={table} /> : <div class="empty-table">No tables yet. Tables that the code creates appear here.</div>}
        <div class="followers">
          {table?.indexes.filter(({ kind }) => kind === 'global').map((index) => <IndexBox key={index.name} app={app} table={table} index={index} />)}
          {table?.stream && <StreamBox table={table} />}
          {table?.replicas.map((replica) => <ReplicaBox key={replica.region} app={app} table={table} replica={replica} />)}
          {table && !table.stream && table.indexes.length === 0 && <p class="quiet follower-note">Indexes, streams and replicas of the table appear here.</p>}
        </div>
        {table && <Waiting app={app} table={table} />}
        <canvas ref={canvas} aria-hidden="true" />
      </div>}
    </section>
  );
}

// Without the stage, tables and items use the space.
function fold(): void {
  folded.value = !folded.value;
  keepSetting('stage', folded.value ? 'folded' : 'open');
}

function StageHead({ app }: { app: App }) {
  const { list, selected, current } = app.tables;
  return (
    <div class="stage-head">
      <h2>Stage</h2>
      <button type="button" class="small" aria-expanded={!folded.value} onClick={fold}>{folded.value ? 'Show' : 'Hide'}</button>
      {list.value.length > 1 && (
        <label class="choice">
          <span>Table</span>
          <select value={current.value?.id ?? ''} onChange={(event) => (selected.value = event.currentTarget.value)}>
            {list.value.map((table) => <option key={table.id} value={table.id}>{app.tables.label(table)}</option>)}
          </select>
        </label>
      )}
      {!folded.value && <ul class="legend" aria-label="Colors">
        <li class="read">read</li>
        <li class="write">write</li>
        <li class="refused">condition failed</li>
        <li class="throttled">throttled</li>
        <li class="expired">expired</li>
      </ul>}
    </div>
  );
}

function Sender({ app }: { app: App }) {
  const rate = useComputed(() => {
    const since = app.time.now.value - 10_000;
    const recent = app.feed.requests.value.filter(({ at }) => Date.parse(at) >= since);
    return { all: recent.length, failed: recent.filter(({ status }) => status >= 400).length };
  });
  return (
    <div class="sender" data-anchor="sender">
      <Icon name="code" />
      <b>{app.isTab ? 'Your code' : 'Clients'}</b>
      <small>{count(rate.value.all, 'request')} in 10 s</small>
      {rate.value.failed > 0 && <small class="bad">{rate.value.failed} refused</small>}
    </div>
  );
}

function TableBox({ app, table }: { app: App; table: TableView }) {
  const resource = table.heat?.resources.find(({ index }) => index === undefined);
  const enforced = app.conditions.value?.capacity !== 'reported';
  return (
    <div class="table-box" data-anchor="table">
      <header>
        <Icon name="table" /> <b>{table.name}</b>
        {table.replicas.length > 0 && <span class="region">{table.region}</span>}
        {table.status !== 'ACTIVE' && <span class="status">{table.status}</span>}
        <small>
          {table.keys.map(({ name }) => name).join(', ')} · {table.provisioned ? `${table.provisioned.read} RCU, ${table.provisioned.write} WCU` : 'on demand'} · {count(table.items, 'item')} · {bytes(table.bytes)}
        </small>
      </header>
      <Buckets resource={resource} enforced={enforced} />
      <div class="partitions">
        {(resource?.partitions ?? []).map((partition, at) => <PartitionBox key={partition.first} partition={partition} at={at} all={resource?.partitions ?? []} enforced={enforced} />)}
      </div>
    </div>
  );
}

function Buckets({ resource, enforced }: { resource: Resource | undefined; enforced: boolean }) {
  return (
    <div class="buckets">
      <Bucket label="read" direction={resource?.read} enforced={enforced} />
      <Bucket label="write" direction={resource?.write} enforced={enforced} />
    </div>
  );
}

function Bucket({ label, direction, enforced }: { label: 'read' | 'write'; direction: Direction | undefined; enforced: boolean }) {
  // A configured maximum of on-demand throughput has a separate bucket, which is the smaller one.
  const { size = 0, left = 0, rate = 0 } = direction?.maximum ?? direction ?? {};
  const share = enforced && size > 0 ? Math.min(1, left / size) : 1;
  const throttles = Object.values(direction?.throttles ?? {}).reduce((sum, one) => sum + one, 0);
  const said = enforced ? `${units(Math.floor(left))} of ${units(Math.round(size))} ${label} units left` : `${label} capacity is not enforced`;
  return (
    <div class={`bucket ${label}`} data-low={share < 0.2} title={said}>
      <span class="bucket-name">{label}</span>
      <span class="gauge" role="meter" aria-label={`Token bucket for ${label}`} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(share * 100)} aria-valuetext={said}>
        <span style={{ transform: `scaleX(${share})` }} />
      </span>
      <small>
        {enforced ? `${units(Math.floor(left))} left, +${units(rate)}/s` : `${units(direction?.units ?? 0)} used`}
        {throttles > 0 && <b class="bad"> · {throttles} throttled</b>}
      </small>
    </div>
  );
}

function PartitionBox({ partition, at, all, enforced }: { partition: HeatPartition; at: number; all: HeatPartition[]; enforced: boolean }) {
  const used = partition.read.units + partition.write.units;
  const most = Math.max(1, ...all.map(({ read, write }) => read.units + write.units));
  const throttled = partition.read.throttles + partition.write.throttles;
  return (
    <div class="partition" data-hot={enforced && throttled > 0} data-anchor={`partition-${at}`}>
      <b>Partition {at}</b>
      <span class="heat" title={`${units(used)} units were spent here, on ${bytes(partition.bytes)}`}>
        <span style={{ transform: `scaleX(${used / most})` }} />
      </span>
      <small>{count(Math.round(used), 'unit')}</small>
      <small>{enforced && throttled > 0 ? <b class="bad">{throttled} throttled</b> : bytes(partition.bytes)}</small>
    </div>
  );
}

function IndexBox({ app, table, index }: { app: App; table: TableView; index: IndexView }) {
  const pending = table.pending?.indexes.find((one) => one.index === index.name);
  const paused = pending?.paused ?? false;
  const waiting = pending?.count ?? 0;
  const toggle = () => void app.act({ do: paused ? 'resume' : 'pause', account: ownerOf(table), table: table.name, index: index.name });
  return (
    <div class="follower" data-anchor={`index-${index.name}`} data-paused={paused}>
      <header>
        <Icon name="index" /> <b>{index.name}</b>
        {app.controlled.value && <button type="button" class="small" aria-pressed={paused} onClick={toggle}>{paused ? 'Resume' : 'Pause'}</button>}
      </header>
      <small>{index.keys.map(({ name }) => name).join(', ')}</small>
      <small class={waiting > 0 ? 'lag' : 'quiet'}>
        {paused ? 'Paused: ' : ''}
        {waiting === 0 ? 'up to date' : `${count(waiting, 'change')} on the way${pending?.next && !paused ? `, next in ${length(Date.parse(pending.next) - app.time.now.value)}` : ''}`}
      </small>
    </div>
  );
}

function StreamBox({ table }: { table: TableView }) {
  const records = table.pending?.streamRecords;
  return (
    <div class="follower" data-anchor="stream">
      <header>
        <Icon name="stream" /> <b>Stream</b>
      </header>
      <small>{table.stream}</small>
      <small class={records?.count ? 'lag' : 'quiet'}>{records?.count ? `${count(records.count, 'record')} not readable yet` : 'all records can be read'}</small>
    </div>
  );
}

function ReplicaBox({ app, table, replica }: { app: App; table: TableView; replica: Replication }) {
  const { region, paused, arriving, leaving } = replica;
  const owner = ownerOf(table);
  const there = app.tables.find(table.name, { ...owner, region });
  const toggle = () => void app.act({ do: paused ? 'resumeReplication' : 'pauseReplication', account: owner, table: table.name, region });
  const waiting = [leaving > 0 && `${leaving} to there`, arriving > 0 && `${arriving} to here`].filter(Boolean).join(', ');
  return (
    <div class="follower" data-anchor={`replica-${region}`} data-paused={paused}>
      <header>
        <Icon name="globe" /> <button type="button" class="link" title={`Shows the replica in ${region}`} onClick={() => app.tables.select(table.name, { ...owner, region })}>{region}</button>
        {app.controlled.value && <button type="button" class="small" aria-pressed={paused} aria-label={`${paused ? 'Resume' : 'Pause'} replication with ${region}`} onClick={toggle}>{paused ? 'Resume' : 'Pause'}</button>}
      </header>
      <small>replica{there && `, ${count(there.items, 'item')}`}</small>
      <small class={waiting ? 'lag' : 'quiet'}>
        {paused ? 'Paused: ' : ''}
        {waiting ? `${waiting}${paused ? '' : ' on the way'}` : 'in sync'}
      </small>
    </div>
  );
}

/** Writes that were replaced by a concurrent write in another region. */
function Conflicts({ app, table }: { app: App; table: TableView }) {
  const conflicts = app.feed.conflicts.value.filter((conflict) => conflict.table === table.name && conflict.accessKey === table.accessKey);
  if (conflicts.length === 0) return null;
  return (
    <div class="held">
      <header>
        <Icon name="globe" /> <b>Conflicts</b> <small>{count(conflicts.length, 'write')} lost: the later one won</small>
      </header>
      <ol class="chips" aria-label="Writes that were lost, the latest first">
        {conflicts.slice(-6).reverse().map(({ key, lost, won }) => (
          <li key={`${keyText(key)} ${lost.at} ${won.at}`}>
            <span>{keyText(key)}</span> <small>{lost.region} lost to {won.region}</small>
          </li>
        ))}
      </ol>
    </div>
  );
}

function Waiting({ app, table }: { app: App; table: TableView }) {
  const { timeToLive, transactions } = table.pending ?? {};
  const expired = expiredOf(table, app.time.now.value);
  return (
    <div class="waiting">
      <div class="ttl" data-anchor="ttl" data-off={!table.ttl}>
        <header>
          <Icon name="clock" /> <b>Time to live</b>
          <small>{table.ttl ? `by ${table.ttl}: ${expiry(table, expired.length)}` : 'off for this table'}</small>
          {table.ttl && app.controlled.value && (timeToLive?.count ?? 0) > 0 && (
            <button type="button" class="small" onClick={() => void app.act({ do: 'expire', account: ownerOf(table), table: table.name })} title="Deletes what has expired, without the service’s lag">Expire now</button>
          )}
        </header>
        <ol class="chips" aria-label="Expired items that are not deleted yet">
          {expired.slice(0, 6).map((item) => <Chip key={keyText(item.key)} item={item} now={app.time.now.value} act="deleted " />)}
        </ol>
      </div>
      {(transactions?.count ?? 0) > 0 && (
        <div class="held" data-anchor="held">
          <header>
            <Icon name="lock" /> <b>Transactions</b> <small>hold {count(transactions?.count ?? 0, 'item')}</small>
          </header>
          <ol class="chips">
            {(transactions?.first ?? []).slice(0, 6).map((item) => <Chip key={keyText(item.key)} item={item} now={app.time.now.value} />)}
          </ol>
        </div>
      )}
      <Conflicts app={app} table={table} />
    </div>
  );
}

/** What time to live is about to do, in words. */
function expiry({ pending }: TableView, expired: number): string {
  const { count: all = 0, first = [] } = pending?.timeToLive ?? {};
  if (expired === 0) return `${count(all, 'item')} will expire`;
  return `${expired}${expired === first.length && expired < all ? '+' : ''} of ${count(all, 'item')} expired, not deleted yet`;
}

function Chip({ item, now, act = '' }: { item: WaitingItem; now: number; act?: string }) {
  return (
    <li>
      <span>{keyText(item.key)}</span> <small>{act}in {length(Math.max(0, Date.parse(item.due) - now))}</small>
    </li>
  );
}
