import { readUsageSearch, type UsageSearch } from './usage-search.ts';

/** A search under a name. */
export interface SavedView {
  readonly name: string;
  readonly search: UsageSearch;
}

export const mostViews = 20;

/** The views in a stored text. Leaves out what is not a view, which a person or an extension may have written. */
export function readViews(stored: string | null): readonly SavedView[] {
  try {
    const views: unknown = JSON.parse(stored ?? '[]');
    if (!Array.isArray(views)) return [];
    return views.flatMap((view: Partial<SavedView> | null) =>
      typeof view?.name === 'string' && typeof view.search === 'object' && view.search !== null
        ? [{ name: view.name, search: readUsageSearch({ ...view.search }) }]
        : [],
    );
  } catch {
    return [];
  }
}

/** A view by the same name is replaced. The newest come first. */
export const withView = (views: readonly SavedView[], view: SavedView): readonly SavedView[] => [
  view,
  ...views.filter(({ name }) => name !== view.name),
];

/** Why a view cannot be saved by this name, or what happens to another one. */
export function noteOn(
  views: readonly SavedView[],
  name: string,
): { readonly text?: string; readonly isFull: boolean } {
  if (views.some((view) => view.name === name)) return { text: `Replaces the view “${name}”.`, isFull: false };
  return views.length < mostViews
    ? { isFull: false }
    : { text: `There are ${mostViews} views, which is the most. Remove one first.`, isFull: true };
}
