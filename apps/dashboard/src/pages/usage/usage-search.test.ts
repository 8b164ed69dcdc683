import { describe, expect, it } from 'vitest';
import { isNarrowed, readUsageSearch, sumsOf, withoutFilters } from './usage-search.ts';

const said = (search: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(readUsageSearch(search)).filter(([, value]) => value !== undefined));
const id = '0b5e2f9a-31b4-4b53-9b57-7b0cf0c3a001';

describe('the address of usage', () => {
  it('is read as it was written', () => {
    const search = { range: '7d', by: 'key', show: 'tokens', model: 'acme/small', key: id, workspace: id };
    expect(said(search)).toEqual(search);
    expect(said({ workspace: 'all' })).toEqual({ workspace: 'all' });
    const ofPeople = { by: 'member', member: id, tag: 'R&D' };
    expect(said(ofPeople)).toEqual(ofPeople);
    expect(said({ ...ofPeople, view: 'requests' })).toEqual({ by: 'member', member: id, view: 'requests' });
  });

  it('narrows the list of requests further than the sums', () => {
    const more = { hours: '1h', status: 'failed', error: 'rate_limit', provider: 'acme', member: id };
    expect(said({ view: 'requests', ...more })).toEqual({ view: 'requests', ...more });
    expect(said(more)).toEqual({ member: id });
    expect(said({ hours: '24h' })).toEqual({ hours: '24h' });
    const wrong = { hours: '2h', status: 'done', error: 'content', provider: '', member: 'x' };
    expect(said({ view: 'requests', ...wrong })).toEqual({ view: 'requests' });
  });

  it('means its two minutes in the list of requests where it has both, and no hours beside them', () => {
    const minutes = { since: '2026-11-21T10:30Z', until: '2026-11-21T10:40Z' };
    expect(said({ view: 'requests', ...minutes, hours: '1h' })).toEqual({ view: 'requests', ...minutes });
    expect(said({ view: 'requests', since: minutes.since, hours: '1h' })).toEqual({ view: 'requests', hours: '1h' });
    expect(said({ view: 'requests', since: '2026-11-21T25:30Z', until: minutes.until })).toEqual({ view: 'requests' });
    expect(said(minutes)).toEqual({});
  });

  it('means its two days where it has both, and no range beside them', () => {
    const days = { from: '2026-11-01', to: '2026-11-21' };
    expect(said({ ...days, range: '7d' })).toEqual(days);
    expect(said({ from: '2026-11-01', range: '7d' })).toEqual({ range: '7d' });
  });

  it('of requests leads to sums of the same days, without what sums do not have', () => {
    const minutes = { since: '2026-11-21T10:30Z', until: '2026-11-23T00:00Z' };
    expect(sumsOf({ view: 'requests', ...minutes, status: 'failed', provider: 'acme', model: 'm' })).toEqual({
      ...{ from: '2026-11-21', to: '2026-11-22', model: 'm' },
    });
    expect(sumsOf({ view: 'requests', hours: '1h', range: '7d', key: id })).toEqual({ range: '7d', key: id });
    expect(sumsOf({ view: 'requests', hours: '24h' })).toEqual({ hours: '24h' });
  });

  it('keeps its time and workspace without its filters', () => {
    const narrowed = { view: 'requests', range: '7d', workspace: 'all', status: 'failed', member: id } as const;
    expect(withoutFilters(narrowed)).toEqual({ view: 'requests', range: '7d', workspace: 'all' });
    expect([narrowed, withoutFilters(narrowed)].map(isNarrowed)).toEqual([true, false]);
  });

  it('says nothing where it says something wrong', () => {
    const wrong = {
      range: 'ever',
      by: 'mood',
      show: 3,
      model: '',
      key: 'x',
      workspace: '*',
      from: '2026-13-01',
      to: 1,
    };
    expect(said(wrong)).toEqual({});
  });
});
