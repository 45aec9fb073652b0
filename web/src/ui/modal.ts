// Modal dialogs.
import { useEffect, useRef } from 'preact/hooks';

/** A reference for a dialog that is modal while it is there. When it goes, the element that had the focus before has it again. */
export function useModal() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement as HTMLElement | null;
    dialog.current?.showModal();
    return () => opener?.focus();
  }, []);
  return dialog;
}
