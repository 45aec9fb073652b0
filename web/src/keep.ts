// The browser's storage: the session survives a reload. Without storage, as in some private windows, nothing is stored.

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open('dynatwin-playground', 1);
    request.onupgradeneeded = () => request.result.createObjectStore('kept');
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('There is no storage.'));
  });
}

async function within<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest<T>): Promise<T | undefined> {
  try {
    const database = await open();
    return await new Promise((resolve, reject) => {
      const request = work(database.transaction('kept', mode).objectStore('kept'));
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error ?? new Error('The storage refused.'));
    }).finally(() => database.close()) as T;
  } catch {
    return undefined;
  }
}

export const keep = (name: string, value: unknown) => within('readwrite', (store) => store.put(value, name));
export const kept = (name: string) => within<unknown>('readonly', (store) => store.get(name));

/** A setting of the page, read before the first paint; `undefined` without storage. */
export function setting(name: string): string | undefined {
  try {
    return localStorage.getItem(`dynatwin-${name}`) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a setting; without storage it holds until the page is left. */
export function keepSetting(name: string, value: string): void {
  try {
    localStorage.setItem(`dynatwin-${name}`, value);
  } catch {
    // The storage is not available.
  }
}
