// Colors code before CodeMirror is loaded: comments, strings, numbers, keywords and calls.

const TOKENS = /(\/\/.*)|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|\b(\d[\d_.]*)\b|\b(import|from|export|default|const|let|var|new|await|async|function|return|if|else|for|of|in|while|try|catch|finally|throw|class|extends|continue|break|typeof|as)\b|\b([A-Za-z_$][\w$]*)(?=\()/g;
const KINDS = ['comment', 'string', 'number', 'keyword', 'function'];

export function colored(code: string) {
  const parts = [];
  let from = 0;
  for (const match of code.matchAll(TOKENS)) {
    const kind = KINDS[match.slice(1).findIndex((group) => group !== undefined)];
    parts.push(code.slice(from, match.index), <span class={`code-${kind}`}>{match[0]}</span>);
    from = match.index + match[0].length;
  }
  return [...parts, code.slice(from)];
}
