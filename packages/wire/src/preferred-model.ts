import type { ModelAnswer } from './answers/models.ts';
import { comparePrivacy } from './privacy.ts';

/**
 * The model that a page or an example uses until the user chooses one. Models that `/auto` never chooses come last, then those whose
 * provider may keep the content. Of the rest, the cheapest. Undefined if there is no model.
 */
export function preferredModel(models: readonly ModelAnswer[]): ModelAnswer | undefined {
  const open = models.filter(({ provider_routes }) =>
    provider_routes.some(({ privacy_class }) => privacy_class !== 'e2ee'),
  );
  const [first] = (open.length > 0 ? open : models).toSorted((a, b) => compare(rankOf(a), rankOf(b)));
  return first;
}

type Rank = readonly [isKeptFromAuto: number, mayKeepContent: number, price: number];

function rankOf({ auto, privacy_class, pricing }: ModelAnswer): Rank {
  const price = (pricing?.input ?? 0) + (pricing?.output ?? pricing?.image ?? pricing?.input_characters ?? 0);
  const isPrivate = privacy_class !== null && comparePrivacy(privacy_class, 'private') >= 0;
  return [Number(auto === false), Number(!isPrivate), price];
}

const compare = (a: Rank, b: Rank): number => a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
