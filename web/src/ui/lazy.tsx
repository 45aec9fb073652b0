// A component whose code is loaded when it is first shown.
import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';

export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  const loaded = signal<ComponentType<Props> | null>(null);
  const failure = signal('');
  const begin = () => {
    load().then(
      (component) => (loaded.value = component),
      (error: unknown) => (failure.value = error instanceof Error ? error.message : String(error)),
    );
  };
  return (props: Props) => {
    useEffect(() => {
      if (!loaded.value) begin();
    }, []);
    const Loaded = loaded.value;
    if (Loaded) return <Loaded {...props} />;
    return failure.value ? <p class="trouble" role="alert">{failure.value}</p> : <p class="quiet empty" aria-busy="true">Loading…</p>;
  };
}
