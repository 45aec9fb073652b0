// Modal dialogs.
import { useLayoutEffect, useRef } from 'preact/hooks';

/** A reference for a dialog that is modal while it exists. When it is removed, the focus returns to the previous element. */
export function useModal(onClose: () => void) {
  const dialog = useRef<HTMLDialogElement>(null);
  // The cleanup of a layout effect runs before the dialog is removed. That of an effect runs after the next paint, and
  // until then nothing has the focus.
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    element?.addEventListener('close', onClose);
    return () => {
      element?.removeEventListener('close', onClose);
      element?.close();
    };
  }, []);
  return dialog;
}
