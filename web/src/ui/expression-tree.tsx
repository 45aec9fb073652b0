// A parsed expression as a tree, and the error of one that is rejected.
import type { ExplainedExpression, ExpressionItem, ExpressionNode } from '../transport/control';
import { brief, keyText } from '../value';

/** Why an expression is refused, with the part at fault marked in its text. */
export function Fault({ expression, explained: { error, at } }: { expression: string; explained: ExplainedExpression }) {
  if (!error) return null;
  return (
    <div class="fault" role="status">
      <p>{error}</p>
      {at && (
        <pre>
          {expression.slice(0, at.start)}
          <mark>{expression.slice(at.start, at.end) || ' '}</mark>
          {expression.slice(at.end)}
        </pre>
      )}
    </div>
  );
}

const INDENT = 18;

/** The parts of an expression as a tree; with an item, also the value of each part. */
export function Tree({ expression, nodes, item }: { expression: string; nodes: ExpressionNode[]; item?: ExpressionItem | undefined }) {
  return (
    <div class="tree-side">
      {item && <p class="quiet">For <code>{keyText(item.key)}</code>, as it is now:</p>}
      <ul class="tree" aria-label="Parts of the expression">
        {nodes.map((node, at) => {
          const part = item?.parts[at];
          return (
            <li key={at} style={{ paddingLeft: `${node.depth * INDENT}px` }} data-holds={part?.holds}>
              {part?.holds !== undefined && <b class="verdict" aria-label={part.holds ? 'true' : 'false'}>{part.holds ? '✓' : '✗'}</b>}
              <Label node={node} written={expression.slice(node.start, node.end)} />
              {part?.value && <span class="given">{brief(part.value).slice(0, 60)}</span>}
              {part?.absent && <span class="given absent">absent</span>}
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function Label({ node, written }: { node: ExpressionNode; written: string }) {
  const operator = node.logic ?? node.operator ?? node.action;
  if (operator) return <code class="operator">{operator}</code>;
  if (node.path !== undefined) {
    return (
      <span>
        <code>{written}</code>
        {node.path !== written && <span class="bound"> is <code>{node.path}</code></span>}
      </span>
    );
  }
  return (
    <span>
      <code>{written}</code>
      {node.value ? <span class="bound"> is <code class="constant">{JSON.stringify(node.value).slice(0, 80)}</code></span> : <b class="bad"> is not defined</b>}
    </span>
  );
}
