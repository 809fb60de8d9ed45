import type { CheckoutScreen, Screen } from './screen.js';

/** The languages of the counter, as BCP 47 tags, with their own names. */
export const LANGUAGES = { en: 'English', th: 'ไทย', ms: 'Bahasa Melayu', 'zh-Hans': '简体中文' } as const;
export type Language = keyof typeof LANGUAGES;

type Heading = { readonly title: string; readonly text: string };

/** The words of the counter in one language. `{name}` stands for a value. */
export type Words = {
  readonly counter: string;
  readonly opening: string;
  readonly closed: Heading;
  /** The browser forbids the page to store anything. */
  readonly noStorage: Heading;
  readonly lost: string;
  readonly lastKnown: string;
  /** What the customer reads instead. */
  readonly customerLost: string;
  readonly amount: string;
  readonly note: string;
  readonly delete: string;
  readonly clear: string;
  readonly currency: string;
  readonly charge: string;
  readonly enterAmount: string;
  readonly limits: string;
  readonly notAccepting: string;
  readonly providerFails: string;
  readonly paused: string;
  readonly lastSales: string;
  readonly noSales: string;
  readonly today: string;
  readonly sales: string;
  readonly refunds: string;
  readonly timeLeft: string;
  readonly qrCode: string;
  readonly openCode: string;
  readonly cancel: string;
  readonly newCode: string;
  readonly newSale: string;
  readonly leave: string;
  readonly back: string;
  readonly print: string;
  readonly receiptCode: string;
  readonly partlyReturned: string;
  readonly paidTwice: string;
  readonly paidTwiceRefused: string;
  /** The provider refuses to return a late payment. */
  readonly returnRefused: string;
  /** The customer reads it then. */
  readonly askForMoney: string;
  readonly changedLater: string;
  readonly customerScreen: string;
  readonly openHere: string;
  readonly openElsewhere: string;
  readonly language: string;
  readonly screens: Readonly<Record<Screen, Heading>>;
  /** What the customer reads instead. */
  readonly customer: Readonly<Record<CheckoutScreen | 'idle', Heading>>;
  /** Why a payment failed, by the provider's `failure_code`. */
  readonly failures: Readonly<Record<string, string>> & { readonly other: string };
  readonly troubles: Readonly<Record<string, string>>;
  /** Why a sale did not begin, by the code of an error. */
  readonly refusals: Readonly<Record<string, string>> & { readonly other: string };
};

const en: Words = {
  counter: 'Counter',
  opening: 'Opening the counter …',
  closed: {
    title: 'This link is not valid',
    text: 'Open the counter with a new link. It shows a sale that is not finished.',
  },
  noStorage: {
    title: 'This page may not store data',
    text: 'Permit this page to store data (in many browsers: cookies), then load it again. Without that, a sale can be lost.',
  },
  lost: 'No connection. Do not charge again: the page continues when the connection is back.',
  lastKnown: 'You see the last known state.',
  customerLost: 'No connection. Please ask at the counter.',
  amount: 'Amount',
  note: 'Note (optional)',
  delete: 'Delete the last digit',
  clear: 'Clear',
  currency: 'Currency',
  charge: 'Charge {amount}',
  enterAmount: 'Enter an amount',
  limits: 'From {minimum} to {maximum}',
  notAccepting: 'No QR payments now',
  providerFails: 'The payment provider does not answer. This page shows when it works again.',
  paused: 'An operator has paused QR payments: {reason}',
  lastSales: 'Last sales',
  noSales: 'No sales yet',
  today: 'Today',
  sales: 'Sales: {count}',
  refunds: 'Refunds: {count}',
  timeLeft: 'Time left',
  qrCode: 'QR code for {amount}',
  openCode: 'Open the code on this device',
  cancel: 'Cancel the sale',
  newCode: 'New QR code',
  newSale: 'New sale',
  leave: 'Next customer',
  back: 'Back',
  print: 'Print the receipt',
  receiptCode: 'Receipt as a QR code',
  partlyReturned: '{amount} was returned.',
  paidTwice: 'The customer paid twice. The second payment is returned.',
  paidTwiceRefused:
    'The customer paid twice, and the provider refuses to return the second payment. A person must return it.',
  returnRefused:
    'The payment came after the end of the sale, and the provider refuses to return it. A person must return the money. Do not hand over the goods.',
  askForMoney: 'Please ask at the counter for your money.',
  changedLater: '{amount}: {state}. This sale changed after you left it. Open it.',
  customerScreen: 'Customer screen',
  openHere: 'Open on this device',
  openElsewhere: 'For another device of the shop, scan this code there. Whoever scans it can sell at this till.',
  language: 'Language',
  screens: {
    opening: { title: 'Opening the sale', text: 'Please wait. Do not charge again.' },
    creating: { title: 'Preparing the QR code', text: 'Please wait. Do not charge again.' },
    awaiting: { title: 'Scan to pay', text: 'The customer can pay now.' },
    checking: {
      title: 'Checking the payment',
      text: 'The customer may be confirming the payment. Do not charge again.',
    },
    unknown: {
      title: 'We are asking the bank',
      text: 'It is not known yet whether the customer has paid. Do not charge again.',
    },
    paid: { title: 'Paid', text: '' },
    returned: { title: 'Money returned', text: 'The customer got the money back. Do not hand over the goods.' },
    late: {
      title: 'Paid too late',
      text: 'The payment came after the end of the sale. The customer gets the money back. Do not hand over the goods.',
    },
    expired: { title: 'Time is over', text: 'The customer has not paid.' },
    failed: { title: 'Payment failed', text: 'The customer has not paid.' },
    cancelled: { title: 'Cancelled', text: 'The customer has not paid.' },
  },
  customer: {
    idle: { title: 'Welcome', text: '' },
    creating: { title: 'One moment, please', text: '' },
    awaiting: { title: 'Scan to pay', text: '' },
    checking: { title: 'Checking the payment', text: 'Please do not pay again.' },
    unknown: { title: 'Checking the payment', text: 'Please do not pay again.' },
    paid: { title: 'Paid', text: 'Thank you!' },
    returned: { title: 'Money returned', text: 'You got your money back.' },
    late: { title: 'Paid too late', text: 'You get your money back.' },
    expired: { title: 'Time is over', text: 'You have not paid.' },
    failed: { title: 'Payment failed', text: 'You have not paid.' },
    cancelled: { title: 'Cancelled', text: 'You have not paid.' },
  },
  failures: {
    payment_expired: 'The time to pay is over.',
    payment_rejected: "The customer's bank or wallet refused the payment.",
    insufficient_fund: 'There is not enough money in the account, or its limit is reached.',
    failed_processing: 'The bank could not process the payment.',
    other: 'The payment did not succeed, for another reason.',
  },
  troubles: {
    cancel_waits: 'The customer may be confirming the payment at this moment. The sale ends as cancelled or paid.',
    cancel_unknown: 'The sale is not cancelled yet. Try again.',
    attempt_unknown: 'There is no new QR code yet. Wait, or try again.',
    attempt_refused: 'This sale takes no new QR code. Start a new sale.',
    not_accepting: 'An operator has paused QR payments.',
  },
  refusals: {
    not_made: 'The last sale did not begin. The customer has not paid.',
    gone: 'The last sale is too old: its records are gone. Look for its payment before you charge again.',
    no_storage: 'This device cannot keep a sale. Permit this page to store data, then try again.',
    not_accepting: 'QR payments are paused. The customer has not paid.',
    reference_conflict: 'The sale did not begin, and the customer has not paid. Charge again.',
    amount_out_of_range: 'The amount is outside the limits. The customer has not paid.',
    unsupported_currency: 'Payments in this currency are not possible. The customer has not paid.',
    other: 'The sale did not begin, and the customer has not paid. If this happens again, ask the operator.',
  },
};

const th: Words = {
  counter: 'เคาน์เตอร์',
  opening: 'กำลังเปิดเคาน์เตอร์ …',
  closed: { title: 'ลิงก์นี้ใช้ไม่ได้', text: 'เปิดเคาน์เตอร์ด้วยลิงก์ใหม่ รายการขายที่ยังไม่เสร็จจะแสดงที่นั่น' },
  noStorage: {
    title: 'หน้านี้เก็บข้อมูลไม่ได้',
    text: 'อนุญาตให้หน้านี้เก็บข้อมูล (ในหลายเบราว์เซอร์คือคุกกี้) แล้วโหลดใหม่ มิฉะนั้นรายการขายอาจสูญหาย',
  },
  lost: 'ไม่มีการเชื่อมต่อ อย่าเรียกเก็บเงินซ้ำ หน้านี้จะทำงานต่อเมื่อเชื่อมต่อได้อีกครั้ง',
  lastKnown: 'หน้านี้แสดงสถานะล่าสุดที่ทราบ',
  customerLost: 'ไม่มีการเชื่อมต่อ โปรดสอบถามที่เคาน์เตอร์',
  amount: 'จำนวนเงิน',
  note: 'หมายเหตุ (ไม่บังคับ)',
  delete: 'ลบตัวเลขสุดท้าย',
  clear: 'ล้าง',
  currency: 'สกุลเงิน',
  charge: 'เรียกเก็บ {amount}',
  enterAmount: 'ใส่จำนวนเงิน',
  limits: 'ตั้งแต่ {minimum} ถึง {maximum}',
  notAccepting: 'ขณะนี้รับชำระด้วย QR ไม่ได้',
  providerFails: 'ผู้ให้บริการชำระเงินไม่ตอบสนอง หน้านี้จะแจ้งเมื่อใช้งานได้อีกครั้ง',
  paused: 'ผู้ดูแลระบบหยุดรับชำระด้วย QR ชั่วคราว: {reason}',
  lastSales: 'รายการขายล่าสุด',
  noSales: 'ยังไม่มีรายการขาย',
  today: 'วันนี้',
  sales: 'ขาย: {count} รายการ',
  refunds: 'คืนเงิน: {count} รายการ',
  timeLeft: 'เวลาที่เหลือ',
  qrCode: 'QR สำหรับ {amount}',
  openCode: 'เปิดรหัสบนอุปกรณ์นี้',
  cancel: 'ยกเลิกรายการ',
  newCode: 'QR ใหม่',
  newSale: 'รายการใหม่',
  leave: 'ลูกค้าคนถัดไป',
  back: 'กลับ',
  print: 'พิมพ์ใบเสร็จ',
  receiptCode: 'ใบเสร็จเป็น QR',
  partlyReturned: 'คืนเงินแล้ว {amount}',
  paidTwice: 'ลูกค้าชำระสองครั้ง ระบบกำลังคืนเงินครั้งที่สอง',
  paidTwiceRefused: 'ลูกค้าชำระสองครั้ง และผู้ให้บริการปฏิเสธการคืนเงินครั้งที่สอง ต้องมีคนคืนเงินนั้น',
  returnRefused: 'การชำระเงินมาหลังจากรายการสิ้นสุด และผู้ให้บริการปฏิเสธการคืนเงิน ต้องมีคนคืนเงินให้ลูกค้า อย่าส่งมอบสินค้า',
  askForMoney: 'โปรดสอบถามเรื่องเงินของคุณที่เคาน์เตอร์',
  changedLater: '{amount}: {state} รายการนี้เปลี่ยนหลังจากที่คุณออกไป เปิดดูรายการ',
  customerScreen: 'หน้าจอลูกค้า',
  openHere: 'เปิดบนอุปกรณ์นี้',
  openElsewhere: 'สำหรับอุปกรณ์อื่นของร้าน ให้สแกนรหัสนี้ด้วยอุปกรณ์นั้น ผู้ที่สแกนสามารถขายที่เครื่องนี้ได้',
  language: 'ภาษา',
  screens: {
    opening: { title: 'กำลังเปิดรายการขาย', text: 'โปรดรอสักครู่ อย่าเรียกเก็บเงินซ้ำ' },
    creating: { title: 'กำลังเตรียม QR', text: 'โปรดรอสักครู่ อย่าเรียกเก็บเงินซ้ำ' },
    awaiting: { title: 'สแกนเพื่อชำระเงิน', text: 'ลูกค้าชำระเงินได้แล้ว' },
    checking: { title: 'กำลังตรวจสอบการชำระเงิน', text: 'ลูกค้าอาจกำลังยืนยันการชำระเงิน อย่าเรียกเก็บเงินซ้ำ' },
    unknown: { title: 'กำลังสอบถามธนาคาร', text: 'ยังไม่ทราบว่าลูกค้าชำระเงินแล้วหรือไม่ อย่าเรียกเก็บเงินซ้ำ' },
    paid: { title: 'ชำระเงินแล้ว', text: '' },
    returned: { title: 'คืนเงินแล้ว', text: 'ลูกค้าได้รับเงินคืนแล้ว อย่าส่งมอบสินค้า' },
    late: { title: 'ชำระเงินช้าเกินไป', text: 'การชำระเงินมาหลังจากรายการสิ้นสุด ลูกค้าจะได้รับเงินคืน อย่าส่งมอบสินค้า' },
    expired: { title: 'หมดเวลา', text: 'ลูกค้ายังไม่ได้ชำระเงิน' },
    failed: { title: 'ชำระเงินไม่สำเร็จ', text: 'ลูกค้ายังไม่ได้ชำระเงิน' },
    cancelled: { title: 'ยกเลิกแล้ว', text: 'ลูกค้ายังไม่ได้ชำระเงิน' },
  },
  customer: {
    idle: { title: 'ยินดีต้อนรับ', text: '' },
    creating: { title: 'โปรดรอสักครู่', text: '' },
    awaiting: { title: 'สแกนเพื่อชำระเงิน', text: '' },
    checking: { title: 'กำลังตรวจสอบการชำระเงิน', text: 'โปรดอย่าชำระเงินซ้ำ' },
    unknown: { title: 'กำลังตรวจสอบการชำระเงิน', text: 'โปรดอย่าชำระเงินซ้ำ' },
    paid: { title: 'ชำระเงินแล้ว', text: 'ขอบคุณ' },
    returned: { title: 'คืนเงินแล้ว', text: 'คุณได้รับเงินคืนแล้ว' },
    late: { title: 'ชำระเงินช้าเกินไป', text: 'คุณจะได้รับเงินคืน' },
    expired: { title: 'หมดเวลา', text: 'คุณยังไม่ได้ชำระเงิน' },
    failed: { title: 'ชำระเงินไม่สำเร็จ', text: 'คุณยังไม่ได้ชำระเงิน' },
    cancelled: { title: 'ยกเลิกแล้ว', text: 'คุณยังไม่ได้ชำระเงิน' },
  },
  failures: {
    payment_expired: 'หมดเวลาชำระเงิน',
    payment_rejected: 'ธนาคารหรือวอลเล็ตของลูกค้าปฏิเสธการชำระเงิน',
    insufficient_fund: 'เงินในบัญชีไม่พอ หรือเกินวงเงินแล้ว',
    failed_processing: 'ธนาคารดำเนินการชำระเงินไม่ได้',
    other: 'การชำระเงินไม่สำเร็จด้วยเหตุผลอื่น',
  },
  troubles: {
    cancel_waits: 'ลูกค้าอาจกำลังยืนยันการชำระเงินอยู่ รายการจะจบด้วยการยกเลิกหรือการชำระเงิน',
    cancel_unknown: 'ยังยกเลิกรายการไม่ได้ ลองอีกครั้ง',
    attempt_unknown: 'ยังไม่มี QR ใหม่ โปรดรอหรือลองอีกครั้ง',
    attempt_refused: 'รายการนี้ออก QR ใหม่ไม่ได้ เริ่มรายการใหม่',
    not_accepting: 'ผู้ดูแลระบบหยุดรับชำระด้วย QR ชั่วคราว',
  },
  refusals: {
    not_made: 'รายการล่าสุดไม่ได้เริ่ม ลูกค้ายังไม่ได้ชำระเงิน',
    gone: 'รายการล่าสุดเก่าเกินไป ข้อมูลไม่อยู่แล้ว ตรวจหาการชำระเงินก่อนเรียกเก็บเงินอีกครั้ง',
    no_storage: 'อุปกรณ์นี้เก็บรายการขายไม่ได้ อนุญาตให้หน้านี้เก็บข้อมูล แล้วลองอีกครั้ง',
    not_accepting: 'หยุดรับชำระด้วย QR ชั่วคราว ลูกค้ายังไม่ได้ชำระเงิน',
    reference_conflict: 'รายการไม่ได้เริ่ม และลูกค้ายังไม่ได้ชำระเงิน เรียกเก็บเงินใหม่',
    amount_out_of_range: 'จำนวนเงินอยู่นอกขอบเขตที่กำหนด ลูกค้ายังไม่ได้ชำระเงิน',
    unsupported_currency: 'ชำระด้วยสกุลเงินนี้ไม่ได้ ลูกค้ายังไม่ได้ชำระเงิน',
    other: 'รายการไม่ได้เริ่ม และลูกค้ายังไม่ได้ชำระเงิน หากเกิดขึ้นอีก ให้แจ้งผู้ดูแลระบบ',
  },
};

const ms: Words = {
  counter: 'Kaunter',
  opening: 'Membuka kaunter …',
  closed: {
    title: 'Pautan ini tidak sah',
    text: 'Buka kaunter dengan pautan baharu. Jualan yang belum selesai akan dipaparkan.',
  },
  noStorage: {
    title: 'Halaman ini tidak boleh menyimpan data',
    text: 'Benarkan halaman ini menyimpan data (dalam banyak pelayar: kuki), kemudian muatkannya semula. Jika tidak, jualan boleh hilang.',
  },
  lost: 'Tiada sambungan. Jangan caj semula: halaman ini bersambung apabila sambungan pulih.',
  lastKnown: 'Anda melihat keadaan terakhir yang diketahui.',
  customerLost: 'Tiada sambungan. Sila tanya di kaunter.',
  amount: 'Jumlah',
  note: 'Nota (pilihan)',
  delete: 'Padam digit terakhir',
  clear: 'Kosongkan',
  currency: 'Mata wang',
  charge: 'Caj {amount}',
  enterAmount: 'Masukkan jumlah',
  limits: 'Dari {minimum} hingga {maximum}',
  notAccepting: 'Tiada bayaran QR sekarang',
  providerFails: 'Penyedia bayaran tidak menjawab. Halaman ini memberitahu apabila ia berfungsi semula.',
  paused: 'Operator telah menghentikan bayaran QR buat sementara: {reason}',
  lastSales: 'Jualan terakhir',
  noSales: 'Belum ada jualan',
  today: 'Hari ini',
  sales: 'Jualan: {count}',
  refunds: 'Bayaran balik: {count}',
  timeLeft: 'Baki masa',
  qrCode: 'Kod QR untuk {amount}',
  openCode: 'Buka kod pada peranti ini',
  cancel: 'Batalkan jualan',
  newCode: 'Kod QR baharu',
  newSale: 'Jualan baharu',
  leave: 'Pelanggan seterusnya',
  back: 'Kembali',
  print: 'Cetak resit',
  receiptCode: 'Resit sebagai kod QR',
  partlyReturned: '{amount} telah dikembalikan.',
  paidTwice: 'Pelanggan membayar dua kali. Bayaran kedua dikembalikan.',
  paidTwiceRefused:
    'Pelanggan membayar dua kali, dan penyedia enggan mengembalikan bayaran kedua. Seseorang mesti mengembalikannya.',
  returnRefused:
    'Bayaran tiba selepas jualan tamat, dan penyedia enggan mengembalikannya. Seseorang mesti mengembalikan wang itu. Jangan serahkan barang.',
  askForMoney: 'Sila tanya tentang wang anda di kaunter.',
  changedLater: '{amount}: {state}. Jualan ini berubah selepas anda meninggalkannya. Buka jualan ini.',
  customerScreen: 'Skrin pelanggan',
  openHere: 'Buka pada peranti ini',
  openElsewhere:
    'Untuk peranti lain milik kedai, imbas kod ini di sana. Sesiapa yang mengimbasnya boleh menjual di kaunter ini.',
  language: 'Bahasa',
  screens: {
    opening: { title: 'Membuka jualan', text: 'Sila tunggu. Jangan caj semula.' },
    creating: { title: 'Menyediakan kod QR', text: 'Sila tunggu. Jangan caj semula.' },
    awaiting: { title: 'Imbas untuk membayar', text: 'Pelanggan boleh membayar sekarang.' },
    checking: {
      title: 'Menyemak bayaran',
      text: 'Pelanggan mungkin sedang mengesahkan bayaran. Jangan caj semula.',
    },
    unknown: {
      title: 'Kami sedang bertanya kepada bank',
      text: 'Belum diketahui sama ada pelanggan telah membayar. Jangan caj semula.',
    },
    paid: { title: 'Telah dibayar', text: '' },
    returned: { title: 'Wang dikembalikan', text: 'Pelanggan telah mendapat wangnya semula. Jangan serahkan barang.' },
    late: {
      title: 'Dibayar terlalu lewat',
      text: 'Bayaran tiba selepas jualan tamat. Pelanggan mendapat wangnya semula. Jangan serahkan barang.',
    },
    expired: { title: 'Masa tamat', text: 'Pelanggan belum membayar.' },
    failed: { title: 'Bayaran gagal', text: 'Pelanggan belum membayar.' },
    cancelled: { title: 'Dibatalkan', text: 'Pelanggan belum membayar.' },
  },
  customer: {
    idle: { title: 'Selamat datang', text: '' },
    creating: { title: 'Sila tunggu sebentar', text: '' },
    awaiting: { title: 'Imbas untuk membayar', text: '' },
    checking: { title: 'Menyemak bayaran', text: 'Sila jangan bayar semula.' },
    unknown: { title: 'Menyemak bayaran', text: 'Sila jangan bayar semula.' },
    paid: { title: 'Telah dibayar', text: 'Terima kasih!' },
    returned: { title: 'Wang dikembalikan', text: 'Anda telah mendapat wang anda semula.' },
    late: { title: 'Dibayar terlalu lewat', text: 'Anda mendapat wang anda semula.' },
    expired: { title: 'Masa tamat', text: 'Anda belum membayar.' },
    failed: { title: 'Bayaran gagal', text: 'Anda belum membayar.' },
    cancelled: { title: 'Dibatalkan', text: 'Anda belum membayar.' },
  },
  failures: {
    payment_expired: 'Masa untuk membayar telah tamat.',
    payment_rejected: 'Bank atau dompet pelanggan menolak bayaran.',
    insufficient_fund: 'Wang dalam akaun tidak cukup, atau hadnya telah dicapai.',
    failed_processing: 'Bank tidak dapat memproses bayaran.',
    other: 'Bayaran tidak berjaya atas sebab lain.',
  },
  troubles: {
    cancel_waits: 'Pelanggan mungkin sedang mengesahkan bayaran. Jualan ini akan dibatalkan atau dibayar.',
    cancel_unknown: 'Jualan belum dibatalkan. Cuba lagi.',
    attempt_unknown: 'Belum ada kod QR baharu. Tunggu, atau cuba lagi.',
    attempt_refused: 'Jualan ini tidak menerima kod QR baharu. Mulakan jualan baharu.',
    not_accepting: 'Operator telah menghentikan bayaran QR buat sementara.',
  },
  refusals: {
    not_made: 'Jualan terakhir tidak bermula. Pelanggan belum membayar.',
    gone: 'Jualan terakhir terlalu lama: rekodnya sudah tiada. Cari bayarannya sebelum anda mengecaj semula.',
    no_storage: 'Peranti ini tidak dapat menyimpan jualan. Benarkan halaman ini menyimpan data, kemudian cuba lagi.',
    not_accepting: 'Bayaran QR dihentikan buat sementara. Pelanggan belum membayar.',
    reference_conflict: 'Jualan tidak bermula, dan pelanggan belum membayar. Caj semula.',
    amount_out_of_range: 'Jumlah di luar had. Pelanggan belum membayar.',
    unsupported_currency: 'Bayaran dalam mata wang ini tidak boleh dibuat. Pelanggan belum membayar.',
    other: 'Jualan tidak bermula, dan pelanggan belum membayar. Jika ini berulang, tanya operator.',
  },
};

const zh: Words = {
  counter: '收银台',
  opening: '正在打开收银台…',
  closed: { title: '此链接无效', text: '请用新链接打开收银台。未完成的销售会在那里显示。' },
  noStorage: {
    title: '此页面无法存储数据',
    text: '请允许此页面存储数据（在许多浏览器中称为 Cookie），然后重新加载。否则销售可能会丢失。',
  },
  lost: '没有网络连接。请勿重复收款：连接恢复后页面会继续。',
  lastKnown: '您看到的是最后已知的状态。',
  customerLost: '没有网络连接。请到柜台询问。',
  amount: '金额',
  note: '备注（可选）',
  delete: '删除最后一位',
  clear: '清除',
  currency: '货币',
  charge: '收款 {amount}',
  enterAmount: '请输入金额',
  limits: '从 {minimum} 到 {maximum}',
  notAccepting: '目前无法使用二维码付款',
  providerFails: '支付服务商没有响应。恢复后此页面会显示。',
  paused: '管理员已暂停二维码付款：{reason}',
  lastSales: '最近的销售',
  noSales: '还没有销售',
  today: '今天',
  sales: '{count} 笔销售',
  refunds: '{count} 笔退款',
  timeLeft: '剩余时间',
  qrCode: '{amount} 的二维码',
  openCode: '在此设备上打开二维码',
  cancel: '取消销售',
  newCode: '新二维码',
  newSale: '新销售',
  leave: '下一位顾客',
  back: '返回',
  print: '打印收据',
  receiptCode: '收据二维码',
  partlyReturned: '已退还 {amount}。',
  paidTwice: '顾客付了两次款。第二笔付款正在退还。',
  paidTwiceRefused: '顾客付了两次款，而支付服务商拒绝退还第二笔付款。必须由人工退还。',
  returnRefused: '付款在销售结束后才到达，而支付服务商拒绝退款。必须由人工退还款项。请勿交付商品。',
  askForMoney: '请到柜台询问您的款项。',
  changedLater: '{amount}：{state}。您离开后，这笔销售发生了变化。请打开查看。',
  customerScreen: '顾客屏幕',
  openHere: '在此设备上打开',
  openElsewhere: '如需在店里的另一台设备上打开，请用该设备扫描此码。扫码的人可以在此收银台收款。',
  language: '语言',
  screens: {
    opening: { title: '正在打开销售', text: '请稍候。请勿重复收款。' },
    creating: { title: '正在准备二维码', text: '请稍候。请勿重复收款。' },
    awaiting: { title: '扫码付款', text: '顾客现在可以付款。' },
    checking: { title: '正在核对付款', text: '顾客可能正在确认付款。请勿重复收款。' },
    unknown: { title: '正在向银行查询', text: '尚不清楚顾客是否已付款。请勿重复收款。' },
    paid: { title: '已付款', text: '' },
    returned: { title: '已退款', text: '款项已退还给顾客。请勿交付商品。' },
    late: { title: '付款太迟', text: '付款在销售结束后才到达。款项将退还给顾客。请勿交付商品。' },
    expired: { title: '时间已到', text: '顾客没有付款。' },
    failed: { title: '付款失败', text: '顾客没有付款。' },
    cancelled: { title: '已取消', text: '顾客没有付款。' },
  },
  customer: {
    idle: { title: '欢迎光临', text: '' },
    creating: { title: '请稍候', text: '' },
    awaiting: { title: '扫码付款', text: '' },
    checking: { title: '正在核对付款', text: '请勿重复付款。' },
    unknown: { title: '正在核对付款', text: '请勿重复付款。' },
    paid: { title: '已付款', text: '谢谢！' },
    returned: { title: '已退款', text: '款项已退还给您。' },
    late: { title: '付款太迟', text: '款项将退还给您。' },
    expired: { title: '时间已到', text: '您没有付款。' },
    failed: { title: '付款失败', text: '您没有付款。' },
    cancelled: { title: '已取消', text: '您没有付款。' },
  },
  failures: {
    payment_expired: '付款时间已过。',
    payment_rejected: '顾客的银行或钱包拒绝了付款。',
    insufficient_fund: '账户余额不足，或已达到限额。',
    failed_processing: '银行无法处理这笔付款。',
    other: '付款因其他原因未成功。',
  },
  troubles: {
    cancel_waits: '顾客此刻可能正在确认付款。这笔销售将以取消或付款结束。',
    cancel_unknown: '销售尚未取消。请重试。',
    attempt_unknown: '还没有新二维码。请稍候或重试。',
    attempt_refused: '这笔销售不能再生成二维码。请开始新销售。',
    not_accepting: '管理员已暂停二维码付款。',
  },
  refusals: {
    not_made: '上一笔销售没有开始。顾客没有付款。',
    gone: '上一笔销售太久，记录已不存在。再次收款前请先查找这笔付款。',
    no_storage: '此设备无法保存销售。请允许此页面存储数据，然后重试。',
    not_accepting: '二维码付款已暂停。顾客没有付款。',
    reference_conflict: '销售没有开始，顾客没有付款。请重新收款。',
    amount_out_of_range: '金额超出限额。顾客没有付款。',
    unsupported_currency: '无法使用此货币付款。顾客没有付款。',
    other: '销售没有开始，顾客没有付款。如果再次发生，请联系管理员。',
  },
};

export const WORDS: Readonly<Record<Language, Words>> = { en, th, ms, 'zh-Hans': zh };

/** The first language of the browser that the page has, else English. */
export function languageOf(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const [primary = ''] = tag.toLowerCase().split('-');
    if (primary === 'zh') return 'zh-Hans';
    if (primary in LANGUAGES) return primary as Language;
  }
  return 'en';
}

/** Puts the values into a text. */
export function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''));
}
