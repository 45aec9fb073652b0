// A row of tabs, which arrow keys move through.
import type { Signal } from '@preact/signals';

interface Props<Name extends string> {
  label: string;
  /** The tabs' panel has the id `{id}-panel`. */
  id: string;
  names: readonly Name[];
  selected: Signal<Name>;
  badges?: Partial<Record<Name, string>>;
}

export function Tabs<Name extends string>({ label, id, names, selected, badges = {} }: Props<Name>) {
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const next = names[(names.indexOf(selected.value) + step + names.length) % names.length];
    if (next === undefined) return;
    selected.value = next;
    document.getElementById(`${id}-${next}`)?.focus();
    event.preventDefault();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {names.map((name) => (
        <button
          key={name}
          id={`${id}-${name}`}
          type="button"
          role="tab"
          aria-selected={selected.value === name}
          aria-controls={`${id}-panel`}
          tabIndex={selected.value === name ? 0 : -1}
          onClick={() => (selected.value = name)}
        >
          {name}
          {badges[name] && <span class="badge">{badges[name]}</span>}
        </button>
      ))}
    </div>
  );
}
