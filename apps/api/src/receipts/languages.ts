import Negotiator from 'negotiator';

/** The languages of receipts, as BCP 47 tags. */
export const LANGUAGES = ['en', 'th', 'ms', 'zh-Hans'] as const;
export type Language = (typeof LANGUAGES)[number];

/** The words of a receipt in one language. */
export type Words = {
  readonly payment: string;
  readonly refund: string;
  readonly taxId: string;
  readonly store: string;
  readonly till: string;
  readonly reference: string;
  readonly time: string;
  readonly description: string;
  readonly paid: string;
  readonly refunded: string;
  readonly customerAmount: string;
  readonly exchangeRate: string;
  readonly paidWith: string;
  readonly qrCode: string;
  readonly networkReference: string;
  readonly acquirerReference: string;
  readonly approvalCode: string;
  readonly chargeId: string;
  readonly refundId: string;
  readonly originalPayment: string;
  readonly originalAmount: string;
  readonly originalTime: string;
};

const WORDS: Readonly<Record<Language, Words>> = {
  en: {
    payment: 'Receipt',
    refund: 'Refund receipt',
    taxId: 'Tax ID',
    store: 'Store',
    till: 'Till',
    reference: 'Reference',
    time: 'Date',
    description: 'For',
    paid: 'Paid',
    refunded: 'Refunded',
    customerAmount: 'Taken from the wallet',
    exchangeRate: 'Exchange rate',
    paidWith: 'Paid with',
    qrCode: 'QR code',
    networkReference: 'Network reference',
    acquirerReference: 'Acquirer reference',
    approvalCode: 'Approval code',
    chargeId: 'Payment ID',
    refundId: 'Refund ID',
    originalPayment: 'Original payment',
    originalAmount: 'Amount paid',
    originalTime: 'Paid on',
  },
  th: {
    payment: 'ใบเสร็จรับเงิน',
    refund: 'ใบรับเงินคืน',
    taxId: 'เลขประจำตัวผู้เสียภาษี',
    store: 'สาขา',
    till: 'เครื่องคิดเงิน',
    reference: 'เลขที่อ้างอิง',
    time: 'วันที่',
    description: 'รายการ',
    paid: 'ยอดชำระ',
    refunded: 'ยอดเงินคืน',
    customerAmount: 'ยอดที่หักจากกระเป๋าเงิน',
    exchangeRate: 'อัตราแลกเปลี่ยน',
    paidWith: 'ชำระด้วย',
    qrCode: 'คิวอาร์โค้ด',
    networkReference: 'รหัสอ้างอิงเครือข่าย',
    acquirerReference: 'รหัสอ้างอิงผู้รับชำระ',
    approvalCode: 'รหัสอนุมัติ',
    chargeId: 'รหัสการชำระ',
    refundId: 'รหัสการคืนเงิน',
    originalPayment: 'การชำระเงินเดิม',
    originalAmount: 'ยอดชำระเดิม',
    originalTime: 'ชำระเมื่อ',
  },
  ms: {
    payment: 'Resit',
    refund: 'Resit bayaran balik',
    taxId: 'No. cukai',
    store: 'Cawangan',
    till: 'Kaunter',
    reference: 'Rujukan',
    time: 'Tarikh',
    description: 'Butiran',
    paid: 'Dibayar',
    refunded: 'Dibayar balik',
    customerAmount: 'Ditolak daripada dompet',
    exchangeRate: 'Kadar pertukaran',
    paidWith: 'Dibayar dengan',
    qrCode: 'Kod QR',
    networkReference: 'Rujukan rangkaian',
    acquirerReference: 'Rujukan pemeroleh',
    approvalCode: 'Kod kelulusan',
    chargeId: 'ID bayaran',
    refundId: 'ID bayaran balik',
    originalPayment: 'Bayaran asal',
    originalAmount: 'Jumlah dibayar',
    originalTime: 'Dibayar pada',
  },
  'zh-Hans': {
    payment: '收据',
    refund: '退款收据',
    taxId: '税号',
    store: '门店',
    till: '收银台',
    reference: '单号',
    time: '日期',
    description: '说明',
    paid: '支付金额',
    refunded: '退款金额',
    customerAmount: '钱包扣款',
    exchangeRate: '汇率',
    paidWith: '支付方式',
    qrCode: '二维码',
    networkReference: '网络参考号',
    acquirerReference: '收单参考号',
    approvalCode: '授权码',
    chargeId: '支付编号',
    refundId: '退款编号',
    originalPayment: '原支付',
    originalAmount: '原支付金额',
    originalTime: '支付时间',
  },
};

export function wordsOf(language: Language): Words {
  return WORDS[language];
}

/** What a caller may ask for. Every kind of Chinese gets the simplified one. */
const BY_TAG: ReadonlyMap<string, Language> = new Map([
  ['en', 'en'],
  ['th', 'th'],
  ['ms', 'ms'],
  ['zh', 'zh-Hans'],
]);

/**
 * The language that a caller likes best of those that receipts have; English when it names none. Source: RFC 9110,
 * 12.5.4.
 */
export function chooseLanguage(acceptLanguage: string | undefined): Language {
  const [tag = ''] = new Negotiator({ headers: { 'accept-language': acceptLanguage } }).languages([...BY_TAG.keys()]);
  return BY_TAG.get(tag) ?? 'en';
}
