// Icons, drawn as one stroke.
const PATHS = {
  play: <path d="M7 4.5v15l12-7.5z" fill="currentColor" stroke="none" />,
  pause: <path d="M7 5h3.5v14H7zM13.5 5H17v14h-3.5z" fill="currentColor" stroke="none" />,
  stop: <path d="M6 6h12v12H6z" fill="currentColor" stroke="none" />,
  next: <path d="M5 5v14l9-7zM16.5 5H19v14h-2.5z" fill="currentColor" stroke="none" />,
  share: <path d="M12 15V4M8 7.5 12 3.5l4 4M5 13v6h14v-6" />,
  copy: <path d="M9 9h10v11H9zM5 15V4h10" />,
  sun: <path d="M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4" />,
  moon: <path d="M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z" />,
  code: <path d="m8 7-5 5 5 5M16 7l5 5-5 5" />,
  lock: <path d="M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3" />,
  clock: <path d="M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17M12 8v4.5l3 2" />,
  stream: <path d="M3 8c3-3 6 3 9 0s6 3 9 0M3 15c3-3 6 3 9 0s6 3 9 0" />,
  globe: <path d="M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17M3.5 12h17M12 3.5c-5 5-5 12 0 17M12 3.5c5 5 5 12 0 17" />,
  index: <path d="M4 6h10M4 12h16M4 18h7" />,
  table: <path d="M4 5h16v14H4zM4 10h16M10 10v9" />,
  close: <path d="m6 6 12 12M18 6 6 18" />,
  undo: <path d="M8 5 4 9l4 4M4 9h10a5 5 0 0 1 0 10h-4" />,
  plus: <path d="M12 5v14M5 12h14" />,
  logo: (
    <>
      <circle cx="9" cy="12" r="6" stroke="var(--read)" stroke-width="2.4" />
      <circle cx="15" cy="12" r="6" stroke="var(--write)" stroke-width="2.4" />
    </>
  ),
};

export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" width="18" height="18" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      {PATHS[name]}
    </svg>
  );
}
