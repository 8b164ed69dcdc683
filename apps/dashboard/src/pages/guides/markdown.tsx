import { Link, useLocation } from '@tanstack/react-router';
import clsx from 'clsx';
import { lexer, type Token, type Tokens, walkTokens } from 'marked';
import { Fragment, type ReactNode } from 'react';
import { linkClass } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { ScrollArea } from '../../ui/surface.tsx';
import { DiagramView } from './diagram.tsx';
import { type Guide, guideLink, headingId } from './guides.ts';

/** A guide without its title, in the look of the dashboard. Raw HTML, which guides have only as comments, is not shown. */
export function Markdown({ guide: { path, text } }: { guide: Guide }) {
  const tokens = lexer(text).filter((token) => token.type !== 'heading' || (token as Tokens.Heading).depth > 1);
  const numbers = new Map<Token, number>();
  const sections = new Map<Token, string>();
  let section = '';
  walkTokens(tokens, (token) => {
    if (token.type === 'heading') section = headingId((token as Tokens.Heading).text);
    if (token.type === 'code' || token.type === 'table') numbers.set(token, numbers.size + 1);
    if (token.type === 'table') sections.set(token, section);
  });
  return <div className="space-y-4">{blocks(tokens, { path, numbers, sections })}</div>;
}

/** What the rendering of a token needs to know of its guide. */
interface Place {
  /** Of the guide. */
  readonly path: string;
  /** Of code and tables, which scroll by themselves and so need names that differ. */
  readonly numbers: ReadonlyMap<Token, number>;
  /** The heading that a table is under. Links to its rows begin with it. */
  readonly sections: ReadonlyMap<Token, string>;
}

/** Texts may repeat, so a key is the place. Nothing is ever moved or inserted. */
const each = (tokens: readonly Token[] | undefined, show: (token: Token) => ReactNode): ReactNode =>
  // biome-ignore lint/suspicious/noArrayIndexKey: the list never changes
  tokens?.map((token, index) => <Fragment key={index}>{show(token)}</Fragment>);

const blocks = (tokens: readonly Token[] | undefined, place: Place): ReactNode =>
  each(tokens, (token) => block(token, place));

function block(token: Token, place: Place): ReactNode {
  switch (token.type) {
    case 'heading':
      return <Heading token={token as Tokens.Heading} place={place} />;
    case 'code': {
      const { text, lang = '' } = token as Tokens.Code;
      if (lang === 'mermaid') return <DiagramView source={text} />;
      return (
        <CodeBlock code={text} label={languages[lang] ?? 'Text'} name={`Code ${place.numbers.get(token) ?? ''}`} />
      );
    }
    case 'list': {
      const { ordered, items, start } = token as Tokens.List;
      const List = ordered ? 'ol' : 'ul';
      return (
        // A step that is followed by a command ends its list, so the next list goes on with its number.
        <List
          {...(ordered && start !== '' ? { start } : {})}
          className={ordered ? 'max-w-prose list-decimal space-y-1 pl-6' : 'max-w-prose list-disc space-y-1 pl-6'}
        >
          {each(items, (item) => (
            <li>{blocks((item as Tokens.ListItem).tokens, place)}</li>
          ))}
        </List>
      );
    }
    case 'table':
      return <Table token={token as Tokens.Table} place={place} />;
    case 'blockquote':
      return (
        <blockquote className="border-l-2 border-line pl-3 text-muted">
          {blocks((token as Tokens.Blockquote).tokens, place)}
        </blockquote>
      );
    case 'hr':
      return <hr className="border-line" />;
    case 'paragraph':
      return <p className="max-w-prose">{inline((token as Tokens.Paragraph).tokens, place)}</p>;
    case 'text':
      return inline((token as Tokens.Text).tokens, place);
    default:
      return null;
  }
}

const languages: Readonly<Record<string, string>> = {
  ...{ sh: 'Shell', bash: 'Shell', python: 'Python', py: 'Python', js: 'JavaScript', ts: 'TypeScript', json: 'JSON' },
  ...{ yaml: 'YAML', toml: 'TOML', http: 'HTTP', text: 'Text' },
};

function Heading({ token: { depth, text, tokens }, place }: { token: Tokens.Heading; place: Place }) {
  const id = headingId(text);
  const Level = depth === 2 ? 'h2' : depth === 3 ? 'h3' : 'h4';
  return (
    <Level id={id} className={`scroll-mt-20 font-semibold ${depth === 2 ? 'pt-4 text-xl' : 'pt-2 text-base'}`}>
      <a href={`#${id}`} className="hover:underline">
        {inline(tokens, place)}
      </a>
    </Level>
  );
}

function Table({ token, place }: { token: Tokens.Table; place: Place }) {
  const { header, rows } = token;
  const { hash } = useLocation();
  /** A row with a name in code has an address: `#section-name`. */
  const idOf = (row: readonly Tokens.TableCell[]): string | undefined => {
    const named = row.find(({ tokens: [first, ...more] }) => first?.type === 'codespan' && more.length === 0);
    return named && `${place.sections.get(token) ?? ''}-${(named.tokens[0] as Tokens.Codespan).text}`;
  };
  return (
    <ScrollArea label={`Table ${place.numbers.get(token) ?? ''}`}>
      <table className="w-full border-collapse text-sm">
        <thead>
          <tr className="border-b border-line text-left">
            {header.map(({ text, tokens }) =>
              text === '' ? (
                <td key={text} />
              ) : (
                <th key={text} scope="col" className="px-2 py-1.5 align-bottom font-medium text-muted">
                  {inline(tokens, place)}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr
              key={row.map(({ text }) => text).join('|')}
              id={idOf(row)}
              className={clsx(
                'scroll-mt-24 border-b border-line',
                hash !== '' && idOf(row) === hash && 'bg-accent-soft',
              )}
            >
              {row.map(({ tokens }, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns stay in their place
                <td key={column} className="min-w-24 px-2 py-1.5 align-top">
                  {inline(tokens, place)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollArea>
  );
}

const inline = (tokens: readonly Token[] | undefined, place: Place): ReactNode =>
  each(tokens, (token) => {
    switch (token.type) {
      case 'strong':
        return <strong>{inline((token as Tokens.Strong).tokens, place)}</strong>;
      case 'em':
        return <em>{inline((token as Tokens.Em).tokens, place)}</em>;
      case 'codespan':
        return (
          <code className="rounded bg-raised px-1 font-mono text-[0.9em] break-words">
            {(token as Tokens.Codespan).text}
          </code>
        );
      case 'br':
        return <br />;
      case 'link':
        return <GuideLink token={token as Tokens.Link} place={place} />;
      case 'image':
        return (token as Tokens.Image).text;
      case 'text':
      case 'escape':
        return 'tokens' in token && token.tokens !== undefined
          ? inline(token.tokens, place)
          : (token as Tokens.Text).text;
      default:
        return null;
    }
  });

/** A link to another guide stays in the dashboard. A file that only the repository has is named, not linked. */
function GuideLink({ token: { href, tokens }, place }: { token: Tokens.Link; place: Place }) {
  const shown = inline(tokens, place);
  if (/^https?:/.test(href)) {
    return (
      <a href={href} rel="noreferrer" className={linkClass}>
        {shown}
      </a>
    );
  }
  const target = guideLink(place.path, href);
  if (target === undefined) return shown;
  return (
    <Link to="/guides/$" params={{ _splat: target.path }} hash={target.hash} className={linkClass}>
      {shown}
    </Link>
  );
}
