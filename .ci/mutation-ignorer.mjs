/**
 * For `npm run mutation:pure`: code of which no pure test can see every change, and the reason. By text, because lines move:
 * the text of an expression or statement, and where it is too short to be found alone, a part of what is around it.
 */
const TYPES = 'It is never reached: the compiler asks for it.';
const SPEED = 'Without it the result is the same, later or with more memory.';
const FALSE = 'The caller takes nothing for the same as what is returned.';

const LEFT_OUT = [
  // src/config
  ['[]', 'tokens: string[] = []', 'A word more in the list of secrets: no message has that word.'],
  ['{ return false; }', 'catch', FALSE],
  ['{ return undefined; }', 'catch', FALSE],
  ['file === undefined', 'readSecretFile(file)', 'No file and a file that cannot be read are the same.'],
  // src/shared
  ['[]', '.exec(', 'The first element, the whole match, is not used.'],
  ['({ length }) => length > least', 'spellings', SPEED],
  ['spellings.filter(({ length }) => length > least)', 'map', SPEED],
  ['secrets.length !== known', 'if', SPEED],
  ['pseudonym === undefined', 'if', SPEED],
  ['known.size >= MOST_KNOWN', 'if', SPEED],
  // src/engine/streams
  ['known.size === MOST_REMEMBERED', 'if', SPEED],
  ['found !== undefined', 'if', SPEED],
  ['record.key === undefined', 'if', SPEED],
  ['id.length <= MAX_KEY_BYTES / 4', '', SPEED],
  ['present += 1', '', SPEED],
  ['value !== undefined', 'present', SPEED],
  ['Object.keys(record).length !== present', '', SPEED],
  ['[]', '() => []', 'A text among the indexes of a table: drizzle takes no notice of it.'],
  [
    "[name, 'account_id', ...key, 'pk'].join('_').length > MOST_OF_A_NAME",
    '',
    'No table has a name of just that length. A test compares the names with those of the migrations.',
  ],
  ['one > other', 'Number', 'The sort of Node.js asks only which is less.'],
  ['sentAt === null', 'if', 'In a comparison null is neither before a time nor after it.'],
  ['last < sentAt', '', 'Equal times are the same.'],
  ['sentAt < firstResponse', '', 'Equal times are the same.'],
  ["['', true]", 'naming.active', 'No field has the name that is empty, so its value is not used.'],
  ["['', { name: 'name' } as Naming]", '', TYPES],
];

const oneLine = (path) => String(path).replaceAll(/\s+/g, ' ');

/** As far as Stryker is concerned, an answer leaves out the node and all that is inside of it. */
function shouldIgnore(path) {
  const isShort = path.node.end - path.node.start < 100;
  if (!isShort || !(path.isExpression() || path.isBlockStatement())) return undefined;
  const [text, around] = [oneLine(path), oneLine(path.parentPath)];
  return LEFT_OUT.find(([code, near]) => text === code && around.includes(near))?.[2];
}

export const strykerPlugins = [{ kind: 'Ignore', name: 'left-out', value: { shouldIgnore } }];
