/** Something that the palette does when it is chosen. */
export interface Command {
  readonly group: (typeof groups)[number];
  readonly label: string;
  readonly detail?: string;
  /** Other words that find it. */
  readonly words?: string;
  readonly run: () => void;
}

const groups = ['Pages', 'Actions', 'Models', 'Keys', 'Guides', 'API', 'Docs'] as const;
/** Documentation loads while the user types, so it never moves what was found before it. */
const documentation: readonly Command['group'][] = ['Guides', 'API', 'Docs'];
const mostOfGroup = 8;
/** Of models and keys, before anything is typed. */
const mostUntyped = 4;

interface CommandGroup {
  readonly group: Command['group'];
  readonly commands: readonly Command[];
}

/**
 * The commands in which all typed words occur, by group. First come those whose label begins with the text. Groups are in
 * the order of their best command.
 */
export function findCommands(commands: readonly Command[], typed: string): readonly CommandGroup[] {
  const text = typed.trim().toLowerCase();
  const words = text.split(/\s+/).filter(Boolean);
  const rankOf = ({ label }: Command): number => {
    const name = label.toLowerCase();
    if (name.startsWith(text)) return 0;
    return words.every((word) => name.includes(word)) ? 1 : 2;
  };
  const found = commands.filter(({ label, detail = '', words: more = '' }) => {
    const searched = `${label} ${detail} ${more}`.toLowerCase();
    return words.every((word) => searched.includes(word));
  });
  return groups
    .map((group) => ({
      group,
      commands: found
        .filter((command) => command.group === group)
        .toSorted((left, right) => rankOf(left) - rankOf(right))
        .slice(0, text !== '' ? mostOfGroup : group === 'Models' || group === 'Keys' ? mostUntyped : undefined),
    }))
    .filter(({ commands: { length } }) => length > 0)
    .toSorted((left, right) => bestOf(left, rankOf) - bestOf(right, rankOf));
}

const bestOf = ({ group, commands }: CommandGroup, rankOf: (command: Command) => number): number =>
  Math.max(documentation.includes(group) ? 1 : 0, Math.min(...commands.map(rankOf)));
