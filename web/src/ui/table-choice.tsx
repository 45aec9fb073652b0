// The choice of a table.
import type { App } from '../app';
import type { TableView } from '../tables';

export function TableChoice({ app, table }: { app: App; table: TableView }) {
  return (
    <label class="line">
      Table
      <select value={table.id} onChange={(event) => (app.tables.selected.value = event.currentTarget.value)}>
        {app.tables.list.value.map((one) => <option key={one.id} value={one.id}>{app.tables.label(one)}</option>)}
      </select>
    </label>
  );
}
