import { describe, expect, it } from 'vitest';
import { usdMistake } from '../../format/format.ts';
import { readDraft, type SettingsDraft } from './settings-card.tsx';

const draft: SettingsDraft = {
  lowBalance: '',
  isAuto: true,
  threshold: '5',
  packageId: 'usd-25',
  monthlyLimit: '100.5',
};

describe('billing settings as they are typed', () => {
  it('are read as they will be saved', () => {
    expect(readDraft({ ...draft, lowBalance: ' 2.50 ' })).toEqual({
      ok: true,
      settings: {
        low_balance_usd: 2.5,
        auto_top_up: { enabled: true, threshold_usd: 5, package_id: 'usd-25', monthly_limit_usd: 100.5 },
      },
    });
  });

  it('without auto top-up need none of its amounts', () => {
    expect(readDraft({ ...draft, isAuto: false, threshold: 'x' })).toEqual({
      ok: true,
      settings: { low_balance_usd: null, auto_top_up: null },
    });
  });

  it.each(['', '-1', '1e9', '5,00', 'NaN', '5 $'])('name the field of what is no amount: %j', (threshold) => {
    expect(readDraft({ ...draft, threshold })).toEqual({
      ok: false,
      errors: { threshold_usd: usdMistake },
    });
  });
});
