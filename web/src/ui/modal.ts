// Modal dialogs.
import { useEffect, useRef } from 'preact/hooks';

/** A reference for a dialog that is modal while it exists. When it is removed, the focus returns to the previous element. */
export function useModal() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement as HTMLElement | null;
    dialog.current?.showModal();
    return () => opener?.focus();
  }, []);
  return dialog;
}
