// The code editor: a text field over its colored text, until it is focused and CodeMirror is loaded.
import { effect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { colored } from './colored';
import type { Signal } from '@preact/signals';

interface Props {
  code: Signal<string>;
  language: 'javascript' | 'text';
  label: string;
  onRun: () => void;
  onEdit?: () => void;
}

export function Editor({ code, language, label, onRun, onEdit }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const behind = useRef<HTMLPreElement>(null);
  const gutter = useRef<HTMLPreElement>(null);
  const wanted = useRef(() => {});

  useEffect(() => {
    const host = place.current;
    if (!host) return;
    let gone = false;
    let asked = false;
    let close = () => {};
    wanted.current = () => void load();
    const load = async () => {
      if (asked) return;
      asked = true;
      const { openEditor } = await import('./code-mirror');
      if (gone) return;
      const focused = document.activeElement === field.current;
      const { selectionStart = 0, selectionEnd = 0 } = field.current ?? {};
      // CodeMirror adds its styles to a shadow root as constructed sheets, which the Content-Security-Policy allows.
      const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
      const view = openEditor(root, {
        text: code.peek(),
        selection: [selectionStart, selectionEnd],
        language,
        label,
        onRun,
        onChange: (text) => {
          if (text === code.peek()) return;
          code.value = text;
          onEdit?.();
        },
      });
      host.dataset['editor'] = 'ready';
      if (focused) view.focus();
      const stop = effect(() => view.show(code.value));
      close = () => {
        stop();
        view.close();
      };
    };
    return () => {
      gone = true;
      close();
    };
  }, []);

  return (
    <div class="editor" ref={place} onPointerEnter={() => wanted.current()}>
      <pre ref={gutter} class="gutter" aria-hidden="true">{code.value.split('\n').map((_, at) => `${at + 1}\n`)}</pre>
      <pre ref={behind} aria-hidden="true">{language === 'javascript' ? colored(code.value) : code.value}{'\n'}</pre>
      <textarea
        ref={field}
        aria-label={label}
        spellcheck={false}
        autocapitalize="off"
        wrap="off"
        onFocus={() => wanted.current()}
        onScroll={({ currentTarget: { scrollTop, scrollLeft } }) => {
          behind.current?.scrollTo(scrollLeft, scrollTop);
          gutter.current?.scrollTo(0, scrollTop);
        }}
        value={code.value}
        onInput={(event) => {
          code.value = event.currentTarget.value;
          onEdit?.();
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) onRun();
        }}
      />
    </div>
  );
}
