/** Orders as an application knows them, made from a seed: the same at each run. */

export interface OrderData {
  readonly customerId: number;
  readonly orderNo: number;
  readonly soldAt: Date;
  readonly status: 'open' | 'shipped';
  readonly locations: readonly LocationData[];
}

export interface LocationData {
  readonly locationNo: number;
  readonly line1: string;
  readonly city: string;
  readonly state: string;
  readonly zip: string;
  readonly items: readonly ItemData[];
}

export interface ItemData {
  /** Unique in its order. */
  readonly itemNo: number;
  readonly product: string;
  readonly quantity: number;
  readonly price: string;
}

const CITIES = ['Ulm', 'Berlin', 'Hamburg', 'Bremen', 'Köln', 'Mainz', 'Kiel', 'Jena'];
const START = Date.UTC(2026, 0, 1);

/** `count` orders of count / 10 customers, with one to three places to ship to and one to four items for each. */
export function* makeOrders(count: number): Generator<OrderData> {
  const random = seeded(7);
  const below = (n: number): number => Math.floor(random() * n);
  for (let i = 0; i < count; i++) {
    let itemNo = 0;
    const locations = Array.from({ length: 1 + below(3) }, (_, l): LocationData => {
      const city = below(CITIES.length);
      return {
        locationNo: l + 1,
        line1: `${1 + below(200)} ${CITIES[below(CITIES.length)]} street`,
        city: CITIES[city]!,
        state: `S${city}`,
        zip: String(10_000 + below(80_000)),
        items: Array.from({ length: 1 + below(4) }, () => ({
          itemNo: ++itemNo,
          product: `p${below(500)}`,
          quantity: 1 + below(9),
          price: `${below(300)}.${10 + below(90)}`,
        })),
      };
    });
    yield {
      customerId: i % Math.max(1, Math.floor(count / 10)),
      orderNo: i,
      soldAt: new Date(START + below(31_536_000) * 1000),
      status: below(3) === 0 ? 'open' : 'shipped',
      locations,
    };
  }
}

/** Numbers from 0 to 1, the same at each run: a linear congruential generator is random enough for data like these. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}
