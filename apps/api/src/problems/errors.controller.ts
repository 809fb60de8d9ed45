import { Controller, Get, Header, Param } from '@nestjs/common';
import { Admits } from '../auth/access.js';
import { isProblemCode } from './catalog.js';
import { errorPage } from './page.js';
import { Problem } from './problem.js';

/** Serves the pages that the `type` of every problem links to. */
@Controller('errors')
export class ErrorsController {
  @Get(':code')
  @Admits('explainProblem')
  @Header('content-type', 'text/plain; charset=utf-8')
  explain(@Param('code') code: string): string {
    if (!isProblemCode(code)) throw new Problem('not_found', 'No error has this code');
    return errorPage(code);
  }
}
