/** Where a part that is made by a program stands in a document, between two comments. */
const beginning = (name: string): string => `<!-- simulation ${name}: written by \`npm run bench -- simulation\` -->\n`;
const end = (name: string): string => `\n<!-- end of simulation ${name} -->`;

/** The part of this name; throws where the document has no place for it. */
export function readPart(document: string, name: string): string {
  const [from, to] = bounds(document, name);
  return document.slice(from, to);
}

/** The document with another part of this name. */
export function replacePart(document: string, name: string, part: string): string {
  const [from, to] = bounds(document, name);
  return document.slice(0, from) + part + document.slice(to);
}

function bounds(document: string, name: string): readonly [from: number, to: number] {
  const start = document.indexOf(beginning(name));
  const from = start + beginning(name).length;
  const to = document.indexOf(end(name), from - 1);
  if (start === -1 || to === -1) throw new Error(`the document has no place for the simulation's part ${name}`);
  return [from, Math.max(from, to)];
}
