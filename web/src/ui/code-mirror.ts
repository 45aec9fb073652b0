// CodeMirror 6, loaded after the page.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, completeFromList, snippetCompletion, type Completion } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { javascript, javascriptLanguage } from '@codemirror/lang-javascript';
import { bracketMatching, HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { EditorState } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

interface Options {
  text: string;
  /** The first and last position of the selection. */
  selection: [number, number];
  language: 'javascript' | 'text';
  label: string;
  onRun: () => void;
  onChange: (text: string) => void;
}

const theme = EditorView.theme({
  '&': { height: '100%', color: 'var(--ink)', backgroundColor: 'transparent', fontSize: '13px' },
  '&.cm-focused': { outline: '2px solid var(--focus)', outlineOffset: '-2px', borderRadius: '6px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--ink)', padding: '10px 0' },
  '.cm-gutters': { backgroundColor: 'var(--panel)', color: 'var(--quiet)', border: 'none', minWidth: '36px', justifyContent: 'end' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--line-active)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--selection)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--selection)', color: 'inherit' },
  '.cm-tooltip': { backgroundColor: 'var(--panel)', color: 'var(--ink)', border: '1px solid var(--line)', borderRadius: '6px' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--read)', color: 'var(--on-accent)' },
});

const colors = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: 'var(--code-keyword)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--code-string)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--code-number)' },
  { tag: tags.comment, color: 'var(--quiet)', fontStyle: 'italic' },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], color: 'var(--code-function)' },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--code-property)' },
  { tag: tags.className, color: 'var(--code-function)' },
]);

const words = (type: string, detail: string, list: string): Completion[] => list.split(' ').map((label) => ({ label, type, detail }));

const COMPLETIONS: Completion[] = [
  ...words('class', 'lib-dynamodb', 'DynamoDBDocumentClient GetCommand PutCommand UpdateCommand DeleteCommand QueryCommand ScanCommand BatchGetCommand BatchWriteCommand TransactGetCommand TransactWriteCommand ExecuteStatementCommand'),
  ...words('class', 'client-dynamodb', 'DynamoDBClient CreateTableCommand DescribeTableCommand UpdateTableCommand DeleteTableCommand ListTablesCommand UpdateTimeToLiveCommand DescribeTimeToLiveCommand GetItemCommand PutItemCommand UpdateItemCommand DeleteItemCommand TransactWriteItemsCommand BatchWriteItemCommand'),
  ...words('function', 'client-dynamodb', 'waitUntilTableExists waitUntilTableNotExists'),
  ...words('function', 'util-dynamodb', 'marshall unmarshall'),
  ...words('property', 'parameter', 'TableName IndexName Key Item KeyConditionExpression FilterExpression ProjectionExpression ConditionExpression UpdateExpression ExpressionAttributeNames ExpressionAttributeValues ReturnValues ReturnConsumedCapacity ReturnValuesOnConditionCheckFailure ConsistentRead ScanIndexForward Limit ExclusiveStartKey Select RequestItems TransactItems ClientRequestToken BillingMode AttributeDefinitions KeySchema GlobalSecondaryIndexes LocalSecondaryIndexes ProvisionedThroughput TimeToLiveSpecification StreamSpecification'),
  ...words('function', 'condition', 'attribute_not_exists attribute_exists begins_with attribute_type contains size if_not_exists list_append'),
  snippetCompletion('await db.send(new PutCommand({\n\tTableName: "${table}",\n\tItem: { ${PK: "key"} },\n}));', { label: 'put', detail: 'an item', type: 'keyword' }),
  snippetCompletion('const { Items } = await db.send(new QueryCommand({\n\tTableName: "${table}",\n\tKeyConditionExpression: "PK = :pk",\n\tExpressionAttributeValues: { ":pk": "${key}" },\n}));', { label: 'query', detail: 'an item collection', type: 'keyword' }),
];

export function openEditor(root: ShadowRoot, { text, selection: [anchor, head], language, label, onRun, onChange }: Options) {
  const extensions = [
    lineNumbers(),
    history(),
    drawSelection(),
    highlightActiveLine(),
    bracketMatching(),
    closeBrackets(),
    indentUnit.of('  '),
    keymap.of([{ key: 'Mod-Enter', run: () => (onRun(), true) }, ...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap]),
    theme,
    syntaxHighlighting(colors),
    EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', tabindex: '0' }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onChange(update.state.doc.toString());
    }),
    autocompletion({ icons: false }),
  ];
  if (language === 'javascript') extensions.push(javascript(), javascriptLanguage.data.of({ autocomplete: completeFromList(COMPLETIONS) }));
  const parent = document.createElement('div');
  parent.part.add('editor');
  parent.style.height = '100%';
  root.replaceChildren(parent);
  const view = new EditorView({ state: EditorState.create({ doc: text, selection: { anchor: Math.min(anchor, text.length), head: Math.min(head, text.length) }, extensions }), parent, root });
  return {
    show(next: string) {
      if (next === view.state.doc.toString()) return;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
      view.scrollDOM.scrollTo(0, 0);
    },
    focus: () => view.focus(),
    close: () => view.destroy(),
  };
}
